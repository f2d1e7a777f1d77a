"""The addresses of the proxy, checked before the client sees them.

The client answers a text that it cannot read with an ``AttributeError`` somewhere else, tells
several names apart from several numbers by the first of them, and cuts an IPv6 address in two.
"""

import ipaddress
import re

import attrs

from pragmatic_ddd.application.arguments import shown_address

_ADDRESS = re.compile(r"([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?):(\d{1,5})")
_HIGHEST_PORT = 65535
_RULE = (
    "host:port of the proxy, or several, separated by semicolons; several are IPv4 addresses, and "
    "never the same one"
)


@attrs.frozen
class Endpoints:
    """Where the proxy is.

    Attributes:
        addresses: Host and port of each; one name, or one or more IPv4 addresses.
    """

    addresses: tuple[tuple[str, int], ...]

    @classmethod
    def parse(cls, text: str) -> "Endpoints":
        """Read ``host:port``, or several, separated by semicolons.

        Raises:
            ValueError: It is something else.
        """
        if "@" in text:  # what stands before it may be a password, with semicolons
            raise ValueError(f"{shown_address(text)} is not host:port")
        addresses = tuple(_address(part.strip()) for part in text.split(";") if part.strip())
        if not addresses:
            raise ValueError(_RULE)
        if len(addresses) > 1 and not all(_is_number(host) for host, _ in addresses):
            raise ValueError(f"{text!r}: {_RULE}")
        if len(set(addresses)) < len(addresses):
            raise ValueError(f"{text!r}: {_RULE}")
        return cls(addresses)

    def __str__(self) -> str:
        return ";".join(f"{host}:{port}" for host, port in self.addresses)


def _address(part: str) -> tuple[str, int]:
    found = _ADDRESS.fullmatch(part)
    if found is None or not 0 < int(found[2]) <= _HIGHEST_PORT:
        raise ValueError(f"{part!r} is not host:port")
    if re.fullmatch(r"[\d.]+", found[1]) and not _is_number(found[1]):
        raise ValueError(f"{part!r}: {found[1]} is no IPv4 address")
    return found[1], int(found[2])


def _is_number(host: str) -> bool:
    try:
        ipaddress.IPv4Address(host)
    except ValueError:
        return False
    return True
