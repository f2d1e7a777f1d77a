"""Settings from the environment of the process."""

import os
import re

import attrs

from pragmatic_ddd.application.arguments import of_type


@attrs.frozen
class EnvironmentConfigurationSource:
    """Settings from the environment: ``outbox.poll-interval`` is ``OUTBOX_POLL_INTERVAL``.

    It lists no keys: most of what is in an environment is not meant for this program.

    Attributes:
        prefix: Put before each variable's name, such as ``SHOP_``.
    """

    prefix: str = attrs.field(default="", validator=of_type(str))

    def get(self, key: str) -> str | None:
        """Return the text of the key's variable."""
        return os.environ.get(self.prefix + variable_of(key))

    def origin(self, key: str) -> str:
        """Say where a setting stands, for messages."""
        return f"from {self.prefix}{variable_of(key)}"


def variable_of(key: str) -> str:
    """Return the name of the environment variable of a key, without a prefix."""
    return re.sub(r"[.-]", "_", key).upper()
