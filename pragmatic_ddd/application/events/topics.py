"""Which topic an event goes to, from settings.

event.topic.default              = shop-events
event.topic.shop.order.paid      = shop-payments     the events of that name
event.topic.subscriber.invoicing = shop-invoicing    what is meant for that subscriber alone
"""

from collections.abc import Callable, Iterable

import attrs

from pragmatic_ddd.application.arguments import can_be_called, implements
from pragmatic_ddd.domain.events import DomainEvent
from pragmatic_ddd.errors import ConfigurationError
from pragmatic_ddd.ports.configuration import IConfigurationSource

_PREFIX = "event.topic"
_DEFAULT = f"{_PREFIX}.default"
_RULE = "a topic is printable ASCII text without spaces, at most 249 characters"
_LONGEST_TOPIC = 249


def _any_topic(_: str) -> None: ...


@attrs.frozen
class ConfigurableTopicResolver:
    """Takes the topic of the subscriber, else that of the event, else the default one.

    A setting is read once; later changes are not seen, so that the answer stays the same.

    Attributes:
        source: Where the settings are.
        broker_rule: Raises a ``ValueError`` for a topic that the broker does not allow; an
            adapter brings it. Without it only what no broker allows is refused here.
    """

    source: IConfigurationSource = attrs.field(validator=implements(IConfigurationSource))
    broker_rule: Callable[[str], object] = attrs.field(
        default=_any_topic, validator=can_be_called(), kw_only=True
    )
    _topics: dict[str, str | None] = attrs.field(factory=dict, init=False, repr=False)

    def resolve(self, event_type: str, *, subscriber: str | None = None) -> str:
        """Return the topic; see ``ITopicResolver``.

        Raises:
            ConfigurationError: No topic is set for it and there is no default, or the setting
                is no topic.
        """
        for key in _keys(event_type, subscriber):
            topic = self._topic(key)
            if topic is not None:
                return topic
        raise ConfigurationError([f"no topic for {event_type}: set {_DEFAULT}"])

    def check(self, event_types: Iterable[type[DomainEvent]]) -> None:
        """Check the topics of events: while the application is wired, not at the first event.

        Raises:
            ConfigurationError: One or more have none, or one that is no topic; names them all.
        """
        problems: list[str] = []
        for event_type in event_types:
            try:
                self.resolve(event_type.event_type)
            except ConfigurationError as error:
                problems.extend(error.problems)
        if problems:
            raise ConfigurationError(list(dict.fromkeys(problems)))

    def _topic(self, key: str) -> str | None:
        if key not in self._topics:
            topic = self.source.get(key)
            self._topics[key] = None if topic is None else self._checked(key, topic)
        return self._topics[key]

    def _checked(self, key: str, topic: object) -> str:
        if not isinstance(topic, str) or not _is_topic(topic):
            raise ConfigurationError([f"{key} = {topic!r}: {_RULE}"])
        try:
            self.broker_rule(topic)
        except ValueError as error:
            raise ConfigurationError([f"{key} = {topic!r}: {error}"]) from error
        return topic


def _keys(event_type: str, subscriber: str | None) -> list[str]:
    of_subscriber = [] if subscriber is None else [f"{_PREFIX}.subscriber.{subscriber}"]
    return [*of_subscriber, f"{_PREFIX}.{event_type}", _DEFAULT]


def _is_topic(topic: str) -> bool:
    is_plain = topic.isascii() and topic.isprintable() and " " not in topic
    return is_plain and 0 < len(topic) <= _LONGEST_TOPIC
