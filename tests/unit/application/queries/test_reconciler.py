import datetime as dt
from collections.abc import Callable

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pragmatic_ddd.application.queries import ReconcileOutcome, Reconciler, ReconciliationManager
from pragmatic_ddd.errors import ConfigurationError, OutboxStoreError, ReconciliationError
from pragmatic_ddd.ports import IReconcileDedup
from pragmatic_ddd.testing.clock import SettableClock
from pragmatic_ddd_local import InMemoryReconcileDedup

_A_MINUTE = dt.timedelta(minutes=1)


@attrs.define
class Shop:
    """The versions of its orders, and those that a list of them has seen."""

    orders: dict[object, int] = attrs.field(factory=dict)
    listed: dict[object, int] = attrs.field(factory=dict)
    repairs: list[object] = attrs.field(factory=list)
    repaired_as: Callable[[int | None], int | None] = lambda version: version
    after_look: Callable[[], None] = lambda: None

    def current_version(self, aggregate_id: object) -> int | None:
        return self.orders.get(aggregate_id)

    def version_of(self, aggregate_id: object) -> int | None:
        found = self.listed.get(aggregate_id)
        self.after_look()
        return found

    def resynchronize(self, aggregate_id: object) -> None:
        if aggregate_id == "unlucky":
            raise OutboxStoreError("the database is down")
        self.repairs.append(aggregate_id)
        self.listed.pop(aggregate_id, None)
        version = self.repaired_as(self.orders.get(aggregate_id))
        if version is not None:
            self.listed[aggregate_id] = version

    def reconciler(self, dedup: IReconcileDedup | None = None) -> Reconciler:
        return Reconciler(
            read_model="order_list",
            aggregates=self,
            views=self,
            resynchronizer=self,
            dedup=dedup,
        )


def _versions(version: int | None) -> dict[object, int]:
    return {} if version is None else {"o1": version}


_SOME_VERSION = st.none() | st.integers(1, 4)


@given(stored=_SOME_VERSION, seen=_SOME_VERSION)
def test_a_view_is_of_its_aggregates_version_afterwards(
    stored: int | None, seen: int | None
) -> None:
    shop = Shop(_versions(stored), _versions(seen))

    outcome = shop.reconciler().reconcile("o1")

    is_same = stored == seen
    assert outcome is (ReconcileOutcome.IN_STEP if is_same else ReconcileOutcome.REPAIRED)
    assert shop.listed == shop.orders
    assert shop.repairs == ([] if is_same else ["o1"])


@pytest.mark.parametrize(
    ("stored", "seen", "repaired"),
    [
        (3, 2, 2),  # not repaired
        (3, 2, None),  # lost
        (3, None, None),  # not added
        (3, 5, 5),  # still ahead, as a guard against older versions leaves it
        (None, 2, 2),  # not removed
    ],
)
def test_a_repair_that_does_not_repair_is_an_error(
    stored: int | None, seen: int | None, repaired: int | None
) -> None:
    shop = Shop(_versions(stored), _versions(seen), repaired_as=lambda _: repaired)

    with pytest.raises(ReconciliationError) as refused:
        shop.reconciler().reconcile("o1")

    error = refused.value
    assert error.retryable
    assert (error.read_model, error.aggregate_id) == ("order_list", "o1")
    assert (error.view_version, error.aggregate_version) == (repaired, stored)
    assert str(error) == (
        f"order_list of 'o1' was repaired, and is of version {repaired}, not {stored}"
    )


def test_a_view_that_has_seen_a_still_later_change_is_repaired() -> None:
    shop = Shop({"o1": 3}, {"o1": 2}, repaired_as=lambda _: 4)

    assert shop.reconciler().reconcile("o1") is ReconcileOutcome.REPAIRED


@pytest.mark.parametrize(("seen", "now"), [(2, None), (None, None), (5, 4)])
def test_an_aggregate_that_is_deleted_or_changed_in_between_is_no_failure(
    seen: int | None, now: int | None
) -> None:
    shop = Shop({"o1": 3}, _versions(seen))

    def change(_: int | None) -> int | None:
        shop.orders = _versions(now)
        return now

    shop.repaired_as = change

    assert shop.reconciler().reconcile("o1") is ReconcileOutcome.REPAIRED


def test_a_change_between_the_two_looks_makes_no_view_look_ahead() -> None:
    shop = Shop({"o1": 2}, {"o1": 2})

    def change() -> None:
        shop.orders["o1"] = shop.listed["o1"] = 3

    shop.after_look = change

    assert shop.reconciler().reconcile("o1") is ReconcileOutcome.REPAIRED
    assert shop.repairs == ["o1"]


def test_a_view_that_was_compared_lately_is_left_alone() -> None:
    shop, clock = Shop({"o1": 2, "o2": 2}, {"o1": 1, "o2": 1}), SettableClock()
    reconciler = shop.reconciler(InMemoryReconcileDedup(_A_MINUTE, clock))

    assert reconciler.reconcile("o1") is ReconcileOutcome.REPAIRED
    shop.orders["o1"] = 3
    assert reconciler.reconcile("o1") is ReconcileOutcome.SKIPPED
    assert reconciler.reconcile("o2") is ReconcileOutcome.REPAIRED
    clock.advance(_A_MINUTE)
    assert reconciler.reconcile("o1") is ReconcileOutcome.REPAIRED


def test_a_view_whose_repair_failed_is_compared_again_at_once() -> None:
    shop = Shop({"unlucky": 2})
    reconciler = shop.reconciler(InMemoryReconcileDedup(_A_MINUTE, SettableClock()))

    for _ in range(2):
        with pytest.raises(OutboxStoreError):
            reconciler.reconcile("unlucky")


def test_many_are_reconciled_and_one_that_fails_stops_nobody(
    caplog: pytest.LogCaptureFixture,
) -> None:
    shop = Shop({"o1": 1, "unlucky": 2, "o3": 3, "o4": 4}, {"o1": 1, "gone": 1})
    dedup = InMemoryReconcileDedup(_A_MINUTE, SettableClock())
    assert dedup.begin("order_list", "o4")
    manager = ReconciliationManager([shop.reconciler(dedup)])

    ids = iter(["o1", "unlucky", "o3", "gone", "o4"])
    report = manager.reconcile("order_list", ids)

    assert (report.in_step, report.repaired, report.skipped) == (1, 2, 1)
    assert list(report.failures) == ["unlucky"]
    assert shop.listed == {"o1": 1, "o3": 3}
    assert caplog.messages == ["order_list of unlucky: the database is down"]


def test_a_mistake_in_the_code_ends_a_run_and_is_not_hidden() -> None:
    prices: dict[int | None, int] = {}
    shop = Shop({"o1": 2}, repaired_as=lambda version: prices[version])
    manager = ReconciliationManager([shop.reconciler()])

    with pytest.raises(KeyError):
        manager.reconcile("order_list", ["o1"])


def test_a_read_model_without_a_reconciler_is_named() -> None:
    with pytest.raises(ConfigurationError, match=r"'invoices' has no reconciler; .*: none$"):
        ReconciliationManager([]).reconcile("invoices", ["o1"])
    with pytest.raises(ConfigurationError, match=r"'invoices' has no .*: order_list$"):
        ReconciliationManager([Shop().reconciler()]).reconcile("invoices", ["o1"])


def test_a_read_model_has_one_reconciler() -> None:
    with pytest.raises(ConfigurationError, match="read model 'order_list' has two reconcilers"):
        ReconciliationManager([Shop().reconciler(), Shop().reconciler()])


@pytest.mark.parametrize(
    ("parts", "complaint"),
    [
        ({"read_model": 1}, r"^read_model = 1: give a str$"),
        ({"aggregates": 1}, r"^aggregates = 1: give an IAggregateVersionResolver"),
        ({"views": 1}, r"^views = 1: give an IReadModelVersionResolver"),
        ({"resynchronizer": 1}, r"^resynchronizer = 1: give an IReadModelResynchronizer"),
        ({"dedup": 1}, r"^dedup = 1: give an IReconcileDedup"),
    ],
)
def test_a_wrong_part_is_named(parts: dict[str, object], complaint: str) -> None:
    make: Callable[..., object] = Reconciler
    shop = Shop()
    right = {"read_model": "x", "aggregates": shop, "views": shop, "resynchronizer": shop}
    with pytest.raises(TypeError, match=complaint):
        make(**right | parts)
    with pytest.raises(ValueError, match=r"^read_model = '': say it, in words$"):
        make(**right | {"read_model": ""})


def test_what_is_no_reconciler_is_refused() -> None:
    make: Callable[..., object] = ReconciliationManager
    with pytest.raises(TypeError, match=r"^reconcilers = 'x': give a Reconciler$"):
        make("x")
    with pytest.raises(TypeError, match=r"^reconcilers = <Reconciler object>: give an Iterable$"):
        make(Shop().reconciler())
