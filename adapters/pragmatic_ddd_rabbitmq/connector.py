"""Making connections: to the first node of a cluster that answers, encrypted where asked for."""

import itertools
import os
import ssl
import time
from collections.abc import Iterator
from typing import Self

import attrs

from pragmatic_ddd.errors import ConfigurationError
from pragmatic_ddd_rabbitmq.broker_address import BrokerAddress
from pragmatic_ddd_rabbitmq.broker_link import BrokerLink
from pragmatic_ddd_rabbitmq.config import RabbitMqConfig
from pragmatic_ddd_rabbitmq.errors import LinkLostError


@attrs.define(eq=False, kw_only=True)
class Connector:
    """Opens connections; safe in many threads.

    Attributes:
        addresses: The nodes.
        name: What connections are called, before process, purpose and number.
        heartbeat_seconds: Longest silence on them.
        encryption: For addresses that are encrypted.
    """

    addresses: tuple[BrokerAddress, ...]
    name: str
    heartbeat_seconds: int
    encryption: ssl.SSLContext
    _next_address: int = attrs.field(default=0, init=False)
    _numbers: Iterator[int] = attrs.field(factory=lambda: itertools.count(1), init=False)

    @classmethod
    def of(cls, config: RabbitMqConfig) -> Self:
        """Return what the settings say.

        Raises:
            ConfigurationError: A file for TLS cannot be read.
        """
        return cls(
            addresses=config.addresses,
            name=config.connection_name,
            heartbeat_seconds=config.heartbeat_seconds,
            encryption=_encryption(config),
        )

    def connect(self, purpose: str, deadline: float) -> BrokerLink:
        """Connect to the node that answered last, or to the next ones, one after the other.

        One that says nothing at all uses up the time, and is the last to be tried next time.

        Args:
            purpose: What for; part of the connection's name.
            deadline: Reading of the monotonic clock until which it has to be done.

        Raises:
            LinkLostError: None answers as it should; says what each says.
        """
        name = f"{self.name} {os.getpid()} {purpose} {next(self._numbers)}"
        failures: list[str] = []
        for _ in self.addresses:
            address = self.addresses[self._next_address % len(self.addresses)]
            try:
                return BrokerLink.opened(
                    address,
                    name=name,
                    encryption=self.encryption if address.is_encrypted else None,
                    heartbeat_seconds=self.heartbeat_seconds,
                    deadline=deadline,
                )
            except LinkLostError as lost:
                failures.append(str(lost))
                self._next_address += 1
            if time.monotonic() >= deadline:
                break
        raise LinkLostError("; ".join(failures))


def _encryption(config: RabbitMqConfig) -> ssl.SSLContext:
    """Return a context that checks the broker's certificate and its host name.

    Raises:
        ConfigurationError: A file cannot be read.
    """
    try:
        context = ssl.create_default_context(cafile=config.tls_ca_file)
        if config.tls_certificate_file is not None:
            # Without a password, or the library would ask for one at the terminal.
            context.load_cert_chain(config.tls_certificate_file, config.tls_key_file, password="")
    except (OSError, ssl.SSLError) as error:
        files = (config.tls_ca_file, config.tls_certificate_file, config.tls_key_file)
        named = ", ".join(str(file) for file in files if file is not None)
        raise ConfigurationError([f"rabbitmq: cannot use {named or 'TLS'}: {error}"]) from error
    return context
