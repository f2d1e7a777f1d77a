import copy
import datetime as dt
import enum
import pickle
from decimal import Decimal

import attrs
import pytest

from pragmatic_ddd.domain import DomainEvent
from pragmatic_ddd.domain.events import LONGEST_ID


class OrderEvent(DomainEvent):
    channel: str = "web"


class OrderPaid(OrderEvent, name="shop.order.paid", version=2, aliases=("shop.order.payed",)):
    total: Decimal


class OrderSettled(OrderPaid, name="shop.order.settled"):
    pass


class OrderRefunded(OrderPaid):
    pass


def a_payment(aggregate_id: str = "o-1") -> OrderPaid:
    return OrderPaid(aggregate_id=aggregate_id, total=Decimal("1.10"))


def test_an_event_knows_its_name_version_and_former_names() -> None:
    event = a_payment()

    assert event.event_type == "shop.order.paid"
    assert event.event_version == 2
    assert event.event_aliases == ("shop.order.payed",)


def test_an_event_is_stamped_when_it_is_raised() -> None:
    before = dt.datetime.now(dt.UTC)
    first, second = a_payment(), a_payment()

    assert before <= first.occurred_at <= dt.datetime.now(dt.UTC)
    assert first.event_id != second.event_id
    assert (first.aggregate_version, first.event_index, first.operation_code) == (0, 0, None)


def test_name_version_and_aliases_are_not_inherited() -> None:
    assert OrderSettled.event_type == "shop.order.settled"
    assert OrderSettled.event_version == 1
    assert OrderSettled.event_aliases == ()
    assert OrderRefunded.event_type == ""


def test_a_version_of_an_enum_is_the_number_that_it_is() -> None:
    class Schema(int, enum.Enum):
        SECOND = 2

    class OrderMoved(DomainEvent, name="shop.order.moved", version=Schema.SECOND):
        pass

    assert type(OrderMoved.event_version) is int
    assert OrderMoved.event_version == 2


@pytest.mark.parametrize("family", [DomainEvent, OrderEvent])
def test_a_family_cannot_be_raised(family: type[DomainEvent]) -> None:
    with pytest.raises(TypeError, match="has no name"):
        family(aggregate_id="o-1")


def test_fields_are_inherited_and_given_by_keyword() -> None:
    assert a_payment().channel == "web"
    with pytest.raises(TypeError):
        OrderPaid("o-1", total=Decimal(1))  # type: ignore[call-arg]  # the mistake


def test_an_event_cannot_be_changed() -> None:
    event = a_payment()

    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        event.total = Decimal(2)  # type: ignore[misc]  # the mistake
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        del event.channel


def test_events_are_equal_by_value_and_class() -> None:
    event = a_payment()

    assert copy.copy(event) == event
    assert hash(copy.copy(event)) == hash(event)
    assert pickle.loads(pickle.dumps(event)) == event
    assert a_payment() != event


def test_an_event_is_placed_by_copy() -> None:
    event = a_payment()

    placed = event.placed_at(3, 1)

    assert (placed.aggregate_version, placed.event_index) == (3, 1)
    assert (event.aggregate_version, event.event_index) == (0, 0)
    assert placed.event_id == event.event_id
    assert placed.caused_by("pay").operation_code == "pay"
    assert type(placed) is OrderPaid


@pytest.mark.parametrize("aggregate_id", [5, None, b"o-1"])
def test_an_aggregate_id_is_text(aggregate_id: object) -> None:
    with pytest.raises(TypeError, match=r"OrderPaid\.aggregate_id"):
        OrderPaid(aggregate_id=aggregate_id, total=Decimal(1))  # type: ignore[arg-type]  # the mistake


@pytest.mark.parametrize(
    "aggregate_id", ["", "a\0b", "a\nb", "\ud800", "x" * (LONGEST_ID + 1), "a ", " a"]
)
def test_an_aggregate_id_is_short_and_printable(aggregate_id: str) -> None:
    with pytest.raises(ValueError, match=r"OrderPaid\.aggregate_id"):
        a_payment(aggregate_id)


def test_any_printable_character_may_be_in_an_id() -> None:
    assert a_payment("東京-\N{GRINNING FACE}").aggregate_id == "東京-\N{GRINNING FACE}"


def test_the_moment_has_a_time_zone() -> None:
    naive = dt.datetime(2026, 1, 2)  # noqa: DTZ001  # this is what is refused
    with pytest.raises(ValueError, match="time zone"):
        OrderPaid(aggregate_id="o-1", total=Decimal(1), occurred_at=naive)


@pytest.mark.parametrize("version", [0, -1, 1.0, "1", True, None])
def test_a_version_is_a_whole_number_from_1(version: object) -> None:
    with pytest.raises(TypeError, match="version"):

        class Wrong(DomainEvent, name="shop.wrong", version=version):  # type: ignore[arg-type]  # the mistake
            pass


@pytest.mark.parametrize("aliases", ["shop.order", ["shop.order"], ("shop order",), (5,)])
def test_aliases_are_a_tuple_of_names(aliases: object) -> None:
    with pytest.raises(TypeError):

        class Wrong(DomainEvent, name="shop.wrong", aliases=aliases):  # type: ignore[arg-type]  # the mistake
            pass
