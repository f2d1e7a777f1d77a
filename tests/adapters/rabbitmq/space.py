"""Names on the broker that no other test uses, and what takes them down."""

from collections.abc import Iterator
from contextlib import contextmanager

import attrs

from tests import servers
from tests.adapters.rabbitmq.any_client import AnyClient
from tests.adapters.rabbitmq.shop import unique

_MOST_QUEUES = 5
_DELAYS = (300, 1000)


@attrs.define(eq=False)
class Space:
    """An exchange, a group, and a queue that takes everything which goes to the exchange.

    Attributes:
        client: Any client's view.
    """

    client: AnyClient
    exchange: str = attrs.field(factory=lambda: unique("events"))
    group: str = attrs.field(factory=lambda: unique("group"))
    _groups: list[str] = attrs.field(factory=list, init=False)
    _exchanges: list[str] = attrs.field(factory=list, init=False)
    _queues: list[str] = attrs.field(factory=list, init=False)

    def __attrs_post_init__(self) -> None:
        self.also_exchange(self.exchange)
        self.also_group(self.group)

    @property
    def everything(self) -> str:
        """Name of the queue that takes everything."""
        return f"{self.exchange}-everything"

    def keep_everything(self) -> str:
        """Make the queue that takes everything."""
        self.client.exchange(self.exchange)
        return self.queue(self.everything, "#")

    def queue(self, name: str, *routing_keys: str, **arguments: object) -> str:
        """Make a queue, bound to the exchange."""
        self._queues.append(name)
        bindings = [(self.exchange, key) for key in routing_keys]
        return self.client.queue(name, *bindings, **arguments)

    def also_exchange(self, name: str) -> str:
        """Take down an exchange of that name, if it comes into being."""
        if name and not name.startswith("amq."):
            self._exchanges.append(name)
        return name

    def also_group(self, name: str) -> str:
        """Take down what is a group's."""
        self._groups.append(name)
        return name

    def take_down(self) -> None:
        suffixes = ["", "-dead-letter", *(f"-delay-{delay}" for delay in _DELAYS)]
        numbers = [f"-{number}" for number in range(1, _MOST_QUEUES + 1)]
        of_groups = [f"{group}{suffix}" for group in self._groups for suffix in suffixes]
        numbered = [f"{group}{number}" for group in self._groups for number in numbers]
        self.client.delete([*self._queues, *of_groups, *numbered], [*self._exchanges, *of_groups])


@contextmanager
def a_space(url: str | None = None) -> Iterator[Space]:
    with AnyClient(url or servers.rabbitmq_url()) as client:
        space = Space(client)
        try:
            yield space
        finally:
            space.take_down()
