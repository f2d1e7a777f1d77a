import datetime as dt
import inspect
from collections.abc import Callable

import attrs
import pytest

from pragmatic_ddd.application.arguments import (
    can_be_called,
    check_class,
    check_count,
    check_port,
    check_type,
    check_words,
    checked_ids,
    shown,
)
from pragmatic_ddd.application.configuration import MappingConfigurationSource
from pragmatic_ddd.application.events import (
    ConfigurableTopicResolver,
    Dispatcher,
    SubscriberRegistry,
)
from pragmatic_ddd.application.outbox import (
    EagerOutboxPublisher,
    EagerPoolConfig,
    EventEncoding,
    OutboxRecorder,
    OutboxRelay,
    OutboxRelayConfig,
    OutboxUnitOfWork,
)
from pragmatic_ddd.application.outbox.retry import Backoff
from pragmatic_ddd.domain import AggregateRoot
from pragmatic_ddd.ports import IClock
from pragmatic_ddd.testing.clock import SettableClock
from pragmatic_ddd.testing.faults import ScriptedPublisher
from pragmatic_ddd_local import (
    InMemoryEventManager,
    InMemoryOutboxStore,
    InMemoryRepository,
    InMemoryTransactionOperations,
    LocalEventManagerConfig,
    ThreadPoolEventManager,
)
from pragmatic_ddd_orjson import EventTypeRegistry, OrjsonEventSerializer

_LONGEST_MESSAGE = 250


def a_serializer() -> OrjsonEventSerializer:
    return OrjsonEventSerializer(EventTypeRegistry())


@pytest.mark.parametrize("service", [EagerOutboxPublisher, OutboxRelay])
@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("store", None, "store = None: give an IOutboxStore; this has no backlog, claim, .*tidy"),
        ("store", InMemoryOutboxStore, "store = <class InMemoryOutboxStore>: give an object"),
        (
            "publisher",
            InMemoryOutboxStore(),
            "publisher = <InMemoryOutboxStore object>: give an IStoredEventPublisher; this has no ",
        ),
        ("metrics", print, "metrics = .*: give an IEventMetrics; this has no backlog, "),
        ("config", {"batch_size": 3}, "^config = <dict object>: give an OutboxRelayConfig$"),
        ("health", None, "^health = None: give a BrokerHealth$"),
    ],
)
def test_what_is_no_port_is_named_when_the_service_is_made(
    service: Callable[..., object], name: str, value: object, problem: str
) -> None:
    given = {"store": InMemoryOutboxStore(), "publisher": ScriptedPublisher()} | {name: value}

    with pytest.raises(TypeError, match=problem):
        service(**given)


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("pool", {"workers": 3}, "^pool = <dict object>: give an EagerPoolConfig$"),
        ("wake_relay", "relay.wake", "^wake_relay = 'relay.wake': give a function$"),
    ],
)
def test_the_eager_publishers_own_arguments_are_checked_too(
    name: str, value: object, problem: str
) -> None:
    make: Callable[..., object] = EagerOutboxPublisher
    given = {"store": InMemoryOutboxStore(), "publisher": ScriptedPublisher()} | {name: value}

    with pytest.raises(TypeError, match=problem):
        make(**given)


def test_a_relay_given_as_the_function_that_wakes_it_is_named_in_a_line() -> None:
    make: Callable[..., object] = EagerOutboxPublisher
    relay = OutboxRelay(store=InMemoryOutboxStore(), publisher=ScriptedPublisher())

    with pytest.raises(TypeError) as refused:
        make(store=relay.store, publisher=relay.publisher, wake_relay=relay)

    assert str(refused.value) == "wake_relay = <OutboxRelay object>: give a function"


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (EventEncoding, "serializer"),
        (EventEncoding, "headers"),
        (EventEncoding, "largest_payload_bytes"),
        (OutboxRecorder, "encoding"),
        (OutboxRecorder, "write"),
        (OutboxUnitOfWork, "transactions"),
        (OutboxUnitOfWork, "store"),
        (OutboxUnitOfWork, "encoding"),
        (OutboxUnitOfWork, "repositories"),
        (OutboxUnitOfWork, "eager"),
        (ConfigurableTopicResolver, "source"),
        (ConfigurableTopicResolver, "broker_rule"),
        (Dispatcher, "registry"),
        (Dispatcher, "metrics"),
        (InMemoryEventManager, "serializer"),
        (InMemoryEventManager, "metrics"),
        (InMemoryEventManager, "longest_call"),
        (ThreadPoolEventManager, "serializer"),
        (ThreadPoolEventManager, "config"),
        (ThreadPoolEventManager, "metrics"),
        (InMemoryOutboxStore, "clock"),
        (InMemoryOutboxStore, "transactions"),
        (InMemoryRepository, "aggregate_type"),
        (InMemoryRepository, "transactions"),
        (MappingConfigurationSource, "settings"),
        (Backoff, "base"),
        (Backoff, "cap"),
    ],
)
@pytest.mark.parametrize("wrong", [ValueError(), "a text"])
def test_a_wrong_part_is_named_where_it_is_wired(
    make: Callable[..., object], name: str, wrong: object
) -> None:
    with pytest.raises(TypeError, match=f"^{name} = .*: give an? ") as refused:
        make(**_parts(make) | {name: wrong})

    assert len(str(refused.value)) < _LONGEST_MESSAGE


@pytest.mark.parametrize("config", [OutboxRelayConfig, EagerPoolConfig, LocalEventManagerConfig])
def test_a_setting_of_another_type_is_named(config: type[attrs.AttrsInstance]) -> None:
    for field in attrs.fields(config):
        for wrong in ("3", 1.5, True):
            with pytest.raises(TypeError, match=rf"^{field.name} = {wrong!r}: give an? "):
                config(**{field.name: wrong})


def test_settings_cannot_be_read_from_what_has_none() -> None:
    bind: Callable[..., object] = OutboxRelayConfig.bind

    with pytest.raises(TypeError, match=r"^source = None: give an IConfigurationSource; .* get$"):
        bind(None)


def _eager() -> EagerOutboxPublisher:
    return EagerOutboxPublisher(store=InMemoryOutboxStore(), publisher=ScriptedPublisher())


def _relay() -> OutboxRelay:
    return OutboxRelay(store=InMemoryOutboxStore(), publisher=ScriptedPublisher())


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (_eager().wait_until_idle, "timeout"),
        (_relay().shutdown, "timeout"),
        (ThreadPoolEventManager(a_serializer()).wait_until_idle, "timeout"),
    ],
)
def test_a_number_is_no_duration(call: Callable[..., object], name: str) -> None:
    with pytest.raises(TypeError, match=f"^{name} = 10: give a timedelta$"):
        call(10)


def test_a_relay_that_was_asked_to_end_in_a_wrong_way_runs_on() -> None:
    relay = _relay()
    shutdown: Callable[..., object] = relay.shutdown
    with pytest.raises(TypeError):
        shutdown(10)

    relay.start()
    assert relay.shutdown()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1, "1"),
        (None, "None"),
        (dt.timedelta(seconds=1), "datetime.timedelta(seconds=1)"),
        (int, "<class int>"),
        ({"password": "secret"}, "<dict object>"),
    ],
)
def test_a_value_is_shown_in_short(value: object, text: str) -> None:
    assert shown(value) == text
    assert len(shown("x" * 1000)) < _LONGEST_MESSAGE


def test_one_text_is_not_many() -> None:
    with pytest.raises(TypeError, match=r"message_ids = 'm1': give a list, such as \['m1'\]"):
        checked_ids("message_ids", "m1")


def test_ids_are_text() -> None:
    ids: object = iter(["m1", "m2"])
    check: Callable[..., object] = checked_ids

    assert check("message_ids", ids) == ["m1", "m2"]
    with pytest.raises(TypeError, match=r"^message_ids\[1\] = 2: give a str$"):
        check("message_ids", ["m1", 2])
    with pytest.raises(TypeError, match=r"^message_ids = 2: give an Iterable$"):
        check("message_ids", 2)


def test_a_count_is_a_whole_number_of_at_least_one() -> None:
    check_count("limit", 1)

    for wrong in ("5", 2.0, True, None):
        with pytest.raises(TypeError, match=f"^limit = {wrong!r}: give an int$"):
            check_count("limit", wrong)
    for too_small in (0, -1):
        with pytest.raises(ValueError, match=f"^limit = {too_small}: at least 1$"):
            check_count("limit", too_small)


def test_words_say_something() -> None:
    check_words("by", "Ada")

    with pytest.raises(TypeError, match=r"^by = None: give a str$"):
        check_words("by", None)
    for blank in ("", " \t\n"):
        with pytest.raises(ValueError, match=r"^by = .*: say it, in words$"):
            check_words("by", blank)


def test_a_class_is_derived_from_what_is_asked_for() -> None:
    check_class("error", ValueError, Exception)

    for wrong in (ValueError(), int, "ValueError"):
        with pytest.raises(TypeError, match=r"^error = .*: give a class derived from Exception$"):
            check_class("error", wrong, Exception)


class OwnClock:
    def __init__(self, *, is_complete: bool) -> None:
        if is_complete:
            self.now = SettableClock().now


def test_what_an_object_has_by_itself_counts_for_it_alone() -> None:
    check_port("clock", OwnClock(is_complete=True), IClock)

    with pytest.raises(TypeError, match=r"^clock = <OwnClock object>: give an IClock; .* now$"):
        check_port("clock", OwnClock(is_complete=False), IClock)


def test_what_fits_is_taken() -> None:
    check_port("clock", SettableClock(), IClock)
    check_type("limit", 3, int)
    assert inspect.isfunction(can_be_called())


def _parts(make: Callable[..., object]) -> dict[str, object]:
    """Return what an object of that class can be made of."""
    transactions = InMemoryTransactionOperations()
    parts = {
        "serializer": a_serializer(),
        "encoding": EventEncoding(serializer=a_serializer()),
        "write": print,
        "transactions": transactions,
        "store": InMemoryOutboxStore(transactions=transactions),
        "repositories": {},
        "source": MappingConfigurationSource({}),
        "registry": SubscriberRegistry(),
        "settings": {},
        "base": dt.timedelta(seconds=1),
        "cap": dt.timedelta(seconds=1),
        "aggregate_type": AggregateRoot,
    }
    return {name: parts[name] for name in inspect.signature(make).parameters if name in parts}
