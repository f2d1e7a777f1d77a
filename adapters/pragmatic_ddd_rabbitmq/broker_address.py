"""Where a broker is, and who logs in: an AMQP URI, of which only the password is secret.

amqp://user:password@host:5672/virtual-host
amqps://user:password@host:5671/virtual-host      the same, encrypted
"""

from typing import Final, Self
from urllib.parse import quote, unquote, urlsplit

import attrs

_RULE: Final = (
    "amqp://user:password@host:port/virtual-host, or amqps://…, several separated by commas; "
    "what is not a letter or a digit in user, password and virtual host is percent-encoded"
)
_PORTS: Final = {"amqp": 5672, "amqps": 5671}
_GUEST: Final = "guest"


@attrs.frozen(kw_only=True)
class BrokerAddress:
    """One node.

    Attributes:
        host: Name or address.
        port: Where it listens.
        virtual_host: The broker's own name for a space of exchanges and queues.
        user: Who logs in.
        password: With what.
        is_encrypted: Whether the connection is TLS.
    """

    host: str
    port: int
    virtual_host: str
    user: str
    password: str = attrs.field(repr=False)
    is_encrypted: bool

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read an AMQP URI.

        Raises:
            ValueError: It is none; says the rule, and nothing of the text.
        """
        try:
            parts = urlsplit(text)
            port = parts.port
        except ValueError:
            raise ValueError(_RULE) from None  # the cause names a part, which may be the password
        virtual_host = unquote(parts.path[1:]) or "/"
        is_plain = not (parts.query or parts.fragment or "/" in parts.path[1:])
        if parts.scheme not in _PORTS or not parts.hostname or port == 0 or not is_plain:
            raise ValueError(_RULE)
        return cls(
            host=parts.hostname,
            port=port or _PORTS[parts.scheme],
            virtual_host=virtual_host,
            user=unquote(parts.username or _GUEST),
            password=unquote(parts.password or _GUEST),
            is_encrypted=parts.scheme == "amqps",
        )

    def __str__(self) -> str:
        scheme = "amqps" if self.is_encrypted else "amqp"
        host = f"[{self.host}]" if ":" in self.host else self.host
        path = "" if self.virtual_host == "/" else f"/{quote(self.virtual_host, safe='')}"
        return f"{scheme}://{host}:{self.port}{path}"


def parse_addresses(text: str) -> tuple[BrokerAddress, ...]:
    """Read the addresses of the nodes of one cluster, separated by commas.

    Raises:
        ValueError: One is no address; says the rule, and nothing of the text.
    """
    return tuple(BrokerAddress.parse(each.strip()) for each in text.split(","))
