"""The account with which a client identifies itself, where the proxy asks for one."""

import attrs


@attrs.frozen
class Credentials:
    """An account.

    Attributes:
        access_key: Its name.
        secret_key: Its secret.
    """

    access_key: str
    secret_key: str = attrs.field(repr=False)
