"""Registered work over a session: what a dry run must not leave behind on mapped objects."""

from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import attributes
from sqlalchemy.orm.exc import DetachedInstanceError

from pragmatic_ddd.domain import AggregateRoot, EntityRule, MessageCode, RuleItem
from pragmatic_ddd.errors import BrokenRuleAggregateError, OutboxStoreError, UnitOfWorkError
from pragmatic_ddd_sqlalchemy import Repository
from pragmatic_ddd_sqlalchemy.unit_of_work import SqlAlchemyUnitOfWork
from pragmatic_ddd_sqlalchemy.units_of_work import SqlAlchemyUnitsOfWork
from tests.adapters.sqlalchemy.databases import any_shop
from tests.adapters.sqlalchemy.models import (
    Counter,
    Line,
    Order,
    OrderDeleted,
    line_table,
    order_table,
)
from tests.adapters.sqlalchemy.shop import Shop

__all__ = ["any_shop"]

FEW = MessageCode("test.order.few", "at most 2 pieces")
FEW_PIECES = EntityRule[Order](
    RuleItem(FEW, lambda order: sum(line.quantity for line in order.lines) <= 2)
)


class Unmapped(AggregateRoot, name="test.unmapped"):
    pass


def work_in(any_shop: Shop) -> SqlAlchemyUnitOfWork:
    return SqlAlchemyUnitsOfWork(any_shop.sessions)()


def pay_and_grow(order: Order) -> None:
    order.pay(5)
    order.change_quantity(7)
    order.lines.append(Line(id=f"{order.id}-2"))


def quantities(any_shop: Shop) -> list[int]:
    with any_shop.engine.connect() as connection:
        return list(connection.scalars(sa.select(line_table.c.quantity)))


def test_a_registered_aggregate_is_changed_with_its_children_and_stored(any_shop: Shop) -> None:
    any_shop.place("o1")
    with work_in(any_shop) as work:
        work.register(work.get(Order, "o1"), logic=pay_and_grow)
        work.commit()

    assert any_shop.orders() == {"o1": (True, 2)}
    assert sorted(quantities(any_shop)) == [1, 7]
    assert any_shop.rows() == ["order.placed", "order.paid", "order.paid"]


def test_a_dry_run_loads_changes_and_undoes_a_loaded_aggregate_with_its_children(
    any_shop: Shop,
) -> None:
    any_shop.place("o1")
    with work_in(any_shop) as work:
        order = work.get(Order, "o1")
        work.register(order, rule=FEW_PIECES, logic=pay_and_grow)
        result = work.try_commit()

        assert [error.code for error in result.broken_rules] == ["test.order.few"]
        assert (order.paid, order.version) == (False, 1)
        assert [line.quantity for line in order.lines] == [1]
        assert len(order.triggered_events) == 0
    assert any_shop.orders() == {"o1": (False, 1)}
    assert quantities(any_shop) == [1]
    assert any_shop.rows() == ["order.placed"]
    assert (any_shop.eager.reserved, any_shop.eager.announced) == ([], [])


def test_what_a_session_has_loaded_is_stored_without_an_event_or_being_added(
    any_shop: Shop,
) -> None:
    any_shop.place("o1")
    with work_in(any_shop) as work:
        work.get(Order, "o1").paid = True
        work.commit()

    assert any_shop.orders() == {"o1": (True, 2)}


def test_what_was_loaded_cannot_be_read_after_a_dry_run_that_is_closed_and_unmapped_stays(
    any_shop: Shop,
) -> None:
    def mark(order: Order) -> None:
        order.__dict__["note"] = "seen"

    any_shop.place("o1")
    with work_in(any_shop) as work:
        order = work.get(Order, "o1")
        work.register(order, logic=mark)
        work.try_commit()

    assert order.__dict__["note"] == "seen"
    with pytest.raises(DetachedInstanceError):
        _ = order.paid


def test_what_a_dry_run_has_flushed_is_rolled_back(any_shop: Shop) -> None:
    any_shop.place("o1")
    with work_in(any_shop) as work:
        session = work.session

        def pay_and_flush(order: Order) -> None:
            order.pay()
            session.flush()
            paid = sa.select(sa.func.count()).select_from(Order).where(order_table.c.paid)
            assert session.scalar(paid) == 1

        work.register(work.get(Order, "o1"), logic=pay_and_flush)
        assert work.try_commit().is_satisfied

    assert any_shop.orders() == {"o1": (False, 1)}
    assert any_shop.rows() == ["order.placed"]


@pytest.mark.parametrize("when", ["transient", "pending", "flushed"])
def test_a_dry_run_leaves_a_new_aggregate_and_its_children_as_they_were(
    any_shop: Shop, when: str
) -> None:
    order = Order.place("o1")
    [line] = order.lines
    with work_in(any_shop) as work:
        if when != "transient":
            work.add(order)
        if when == "flushed":
            work.session.flush()
        work.register(order, rule=FEW_PIECES, logic=pay_and_grow)
        assert not work.try_commit().is_satisfied

    assert order.lines == [line]
    assert (order.paid or False, line.quantity, len(order.triggered_events)) == (False, 1, 1)
    assert any_shop.orders() == {}

    with work_in(any_shop) as work:
        work.register(order, rule=FEW_PIECES)
        work.commit()
    assert any_shop.orders() == {"o1": (False, 1)}
    assert any_shop.rows() == ["order.placed"]


@pytest.mark.parametrize("is_flushed", [False, True])
def test_a_new_aggregate_refers_to_loaded_ones_themselves_in_a_dry_run_which_undoes_them(
    any_shop: Shop, *, is_flushed: bool
) -> None:
    any_shop.place("o1")
    new = Order.place("o2")
    with work_in(any_shop) as work:
        loaded = vars(new)["reordered"] = work.get(Order, "o1")
        if is_flushed:
            work.add(new)
            work.session.flush()

        def reorder(order: Order) -> None:
            assert order is not new
            assert vars(order)["reordered"] is loaded
            loaded.change_quantity(7)  # of lines that are not loaded yet
            order.change_quantity(7)

        work.register(new, logic=reorder)
        assert work.try_commit().is_satisfied

        assert [line.quantity for line in (*loaded.lines, *new.lines)] == [1, 1]
        assert (len(loaded.triggered_events), len(new.triggered_events)) == (0, 1)
    assert any_shop.orders() == {"o1": (False, 1)}


def test_a_dry_run_leaves_a_detached_aggregate_as_it_was(any_shop: Shop) -> None:
    with any_shop.sessions(expire_on_commit=False) as session:
        order = Order.place("o1")
        session.add(order)
        session.commit()
    assert attributes.instance_state(order).detached

    with work_in(any_shop) as work:
        work.register(order, logic=pay_and_grow)
        assert work.try_commit().is_satisfied

    assert (order.paid, order.lines[0].quantity, len(order.triggered_events)) == (False, 1, 0)


def test_a_broken_rule_undoes_what_logic_has_done_to_a_loaded_aggregate(any_shop: Shop) -> None:
    any_shop.place("o1")
    with work_in(any_shop) as work:
        order = work.get(Order, "o1")
        work.register(order, rule=FEW_PIECES, logic=pay_and_grow)
        with pytest.raises(BrokenRuleAggregateError):
            work.commit()

        assert (order.paid, len(order.triggered_events)) == (False, 0)
    assert any_shop.orders() == {"o1": (False, 1)}
    assert len(any_shop.eager.reserved) == len(any_shop.eager.cancelled)


def test_a_repository_saves_what_is_registered_with_it(any_shop: Shop) -> None:
    any_shop.place("o1")
    with work_in(any_shop) as work:
        orders = Repository(Order, work.session)
        order = orders.find_by_id("o1")
        assert order is not None
        work.register(order, repository=orders, logic=lambda one: one.pay())
        work.register(Order.place("o2"), repository=orders)
        work.commit()

    assert any_shop.orders() == {"o1": (True, 2), "o2": (False, 1)}
    assert sorted(any_shop.rows()) == ["order.paid", "order.placed", "order.placed"]


def test_what_is_registered_with_a_repository_and_removed_is_checked_and_not_saved(
    any_shop: Shop,
) -> None:
    any_shop.place("o1")
    with work_in(any_shop) as work:
        order = work.get(Order, "o1")
        work.remove(order)
        work.register(order, repository=Repository(Order, work.session), logic=Order.pay)
        work.commit()

    assert any_shop.orders() == {}
    assert any_shop.rows() == ["order.placed", "order.paid"]


@pytest.mark.parametrize("removes_at_once", [True, False])
def test_what_is_removed_takes_along_a_child_that_was_never_stored(
    any_shop: Shop, *, removes_at_once: bool
) -> None:
    any_shop.place("o1")
    with work_in(any_shop) as work:
        order = work.get(Order, "o1")
        order.lines.append(Line(id="o1-2"))
        if removes_at_once:
            Repository(Order, work.session).remove(order)
        else:
            work.remove(order)
        work.commit()

    assert any_shop.orders() == {}
    with any_shop.engine.connect() as connection:
        assert connection.execute(sa.select(line_table)).all() == []


def test_what_is_registered_twice_with_a_repository_is_saved_once(any_shop: Shop) -> None:
    any_shop.place("o1")
    with work_in(any_shop) as work:
        orders = Repository(Order, work.session)
        order = work.get(Order, "o1")
        work.register(order, logic=lambda one: one.pay())
        work.register(order, repository=orders, logic=lambda one: one.pay())
        work.register(order, repository=orders)
        work.commit()

    assert any_shop.orders() == {"o1": (True, 2)}


def test_a_repository_of_another_session_is_refused_for_nobody_would_commit_that(
    any_shop: Shop,
) -> None:
    with any_shop.sessions() as other, work_in(any_shop) as work:
        with pytest.raises(UnitOfWorkError, match=r"make it with work\.session"):
            work.register(Order.place("o1"), repository=Repository(Order, other))
        work.register(Order.place("o2"))
        work.commit()

    assert any_shop.orders() == {"o2": (False, 1)}


def test_the_hook_before_it_is_stored_is_called_for_what_is_registered(
    any_shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    called: list[str] = []
    monkeypatch.setattr(Order, "trigger_data_sync_hook", lambda order: called.append(order.id))
    with work_in(any_shop) as work:
        work.register(Order.place("o1"))
        work.register(Order.place("o2"), repository=Repository(Order, work.session))
        work.commit()

    assert list(dict.fromkeys(called)) == ["o1", "o2"]


def test_each_flush_calls_the_hook_of_what_is_changed_or_has_events_and_no_other(
    any_shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    for order_id in ("o1", "o2", "o3", "o4"):
        any_shop.place(order_id)
    called: list[str] = []
    monkeypatch.setattr(Order, "trigger_data_sync_hook", lambda order: called.append(order.id))
    with any_shop.sessions() as session:
        changed, eventful, gone, read = [
            session.get_one(Order, order_id) for order_id in ("o1", "o2", "o3", "o4")
        ]
        changed.paid = True
        eventful.change_quantity(2)
        session.delete(gone)
        session.flush()
        assert set(called) == {"o1", "o2"}
        called.clear()
        eventful.change_quantity(3)
        session.commit()

        assert set(called) == {"o2"}
        assert (read.id, eventful.version) == ("o4", 2)


def test_a_session_refuses_what_has_noted_a_broken_rule_though_it_was_flushed_and_let_go(
    any_shop: Shop,
) -> None:
    any_shop.place("o1")
    with any_shop.sessions() as session:
        session.get_one(Order, "o1").paid = True
        session.get_one(Order, "o1").add_broken_rule(FEW)
        session.flush()
        for _ in range(2):
            with pytest.raises(BrokenRuleAggregateError, match="at most 2 pieces"):
                session.commit()
        session.rollback()
        session.get_one(Order, "o1").pay()
        session.commit()

    assert any_shop.orders() == {"o1": (True, 2)}
    assert any_shop.rows() == ["order.placed", "order.paid"]


def test_a_rollback_forgets_what_a_loaded_aggregate_has_noted_and_a_new_one_keeps_it(
    any_shop: Shop,
) -> None:
    any_shop.place("o1")
    new = Order.place("o2")
    with any_shop.sessions() as session:
        loaded = session.get_one(Order, "o1")
        loaded.add_broken_rule(FEW)
        session.add(new)
        new.add_broken_rule(FEW)
        session.rollback()

        assert (loaded.broken_rules, len(new.broken_rules)) == ((), 1)


def test_operations_of_a_new_aggregate_without_events_are_forgotten_when_it_is_stored(
    any_shop: Shop,
) -> None:
    counter = Counter(id="c1")
    with work_in(any_shop) as work:
        work.register(counter, logic=lambda one: one.record_operation("test.counter.begin"))
        work.commit()

    assert (counter.version, len(counter.triggered_operations)) == (1, 0)

    added = Counter(id="c2")
    added.record_operation("test.counter.begin")
    with work_in(any_shop) as work:
        work.add(added)
        work.commit()

    assert (added.version, len(added.triggered_operations)) == (1, 0)


def test_an_error_of_the_database_in_a_rule_is_translated_and_ends_the_dry_run(
    any_shop: Shop,
) -> None:
    any_shop.place("o1")
    with work_in(any_shop) as work:
        session = work.session

        def asks(_: Order) -> bool:
            return bool(session.scalar(sa.text("SELECT gone FROM nowhere")))

        work.register(
            work.get(Order, "o1"),
            rule=EntityRule(RuleItem(FEW, asks)),
            logic=lambda order: order.pay(),
        )
        with pytest.raises(OutboxStoreError):
            work.try_commit()
        with pytest.raises(UnitOfWorkError):
            work.commit()
    assert any_shop.orders() == {"o1": (False, 1)}


@pytest.mark.parametrize("by", ["session", "repository"])
@pytest.mark.parametrize("saved_by", ["session", "repository"])
def test_what_logic_has_removed_stays_removed_and_its_event_is_stored(
    any_shop: Shop, by: str, saved_by: str
) -> None:
    any_shop.place("o1")
    with work_in(any_shop) as work:
        orders = Repository(Order, work.session)

        def remove(order: Order) -> None:
            order.collect_event(OrderDeleted(aggregate_id=order.id))
            if by == "session":
                work.session.delete(order)
            else:
                orders.remove(order)

        repository = orders if saved_by == "repository" else None
        work.register(work.get(Order, "o1"), logic=remove, repository=repository)
        work.commit()

    assert any_shop.orders() == {}
    assert any_shop.rows() == ["order.placed", "order.deleted"]


def test_what_is_removed_before_it_is_registered_stays_removed(any_shop: Shop) -> None:
    any_shop.place("o1")
    with work_in(any_shop) as work:
        order = work.get(Order, "o1")
        work.session.delete(order)
        work.register(order, logic=lambda one: one.say_paid())
        work.commit()

    assert any_shop.orders() == {}
    assert any_shop.rows() == ["order.placed", "order.paid"]


def test_logic_that_rolls_back_and_goes_on_is_refused(any_shop: Shop) -> None:
    any_shop.place("o1")
    with work_in(any_shop) as work:

        def start_anew(order: Order) -> None:
            work.rollback()
            order.pay()

        work.register(work.get(Order, "o1"), logic=start_anew)
        with pytest.raises(UnitOfWorkError, match="has ended"):
            work.commit()

    assert any_shop.orders() == {"o1": (False, 1)}
    assert any_shop.rows() == ["order.placed"]


def test_what_is_not_mapped_is_refused(any_shop: Shop) -> None:
    wrong: Any = "o1"
    with work_in(any_shop) as work:
        with pytest.raises(TypeError, match="is not mapped"):
            work.register(Unmapped(id="1"))
        with pytest.raises(TypeError, match="give an AggregateRoot"):
            work.register(wrong)
