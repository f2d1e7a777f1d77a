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
        return os.environ.get(self._variable(key))

    def origin(self, key: str) -> str:
        """Say where a setting stands, for messages."""
        return f"from {self._variable(key)}"

    def _variable(self, key: str) -> str:
        return self.prefix + re.sub(r"[.-]", "_", key).upper()
