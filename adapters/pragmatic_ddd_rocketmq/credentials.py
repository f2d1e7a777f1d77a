"""The account with which a client identifies itself, where the brokers ask for one."""

import attrs

_CHANNEL = b""  # a notion of one vendor's cloud


@attrs.frozen
class Credentials:
    """An account.

    Attributes:
        access_key: Its name.
        secret_key: Its secret.
    """

    access_key: str
    secret_key: str = attrs.field(repr=False)

    def encoded(self) -> tuple[bytes, bytes, bytes]:
        """Return what the native client asks for: name, secret and channel."""
        return self.access_key.encode(), self.secret_key.encode(), _CHANNEL
