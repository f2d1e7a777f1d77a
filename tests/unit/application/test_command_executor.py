from typing import Any

import attrs
import pytest

from pragmatic_ddd.application.application_service import ApplicationService
from pragmatic_ddd.application.command_executor import CommandExecutor
from pragmatic_ddd.domain import EntityRule
from pragmatic_ddd.errors import (
    AggregateNotFoundError,
    BrokenRuleAggregateError,
    BrokenRuleError,
    DomainError,
)
from pragmatic_ddd.ports import (
    DryRunResult,
    EntityFactory,
    EntityUpdater,
    ICommandExecutor,
    IEntityPropertyResolver,
)
from tests.unit.application.orders import (
    ORDER_RULES,
    Invoice,
    Order,
    OrderPaidError,
    Shop,
)


@pytest.fixture
def shop() -> Shop:
    return Shop()


@pytest.fixture
def executor(shop: Shop) -> ICommandExecutor:
    return CommandExecutor(shop.work)


def test_a_new_aggregate_is_checked_stored_and_its_events_go_out(
    shop: Shop, executor: ICommandExecutor
) -> None:
    order = executor.execute(Order.place("o1", "cup"), rule=ORDER_RULES)

    assert order.version == shop.stored("o1").version == 1
    assert shop.published == ["order.placed"]


def test_an_aggregate_is_found_in_the_unit_of_work_and_changed(
    shop: Shop, executor: ICommandExecutor
) -> None:
    executor.execute(Order.place("o1", "cup"))

    order = executor.execute(lambda work: work.get(Order, "o1"), Order.pay, rule=ORDER_RULES)

    assert order.paid
    assert shop.stored("o1").paid
    assert shop.published == ["order.placed", "order.paid"]


def test_an_aggregate_may_bring_its_repository(shop: Shop, executor: ICommandExecutor) -> None:
    executor.execute(Invoice(id="i1"), repository=shop.invoices)

    assert executor.try_execute(Invoice(id="i2"), repository=shop.invoices).is_satisfied
    assert shop.invoices.exists_by_id("i1")
    assert not shop.invoices.exists_by_id("i2")


def test_a_broken_rule_keeps_a_command_from_being_carried_out(
    shop: Shop, executor: ICommandExecutor
) -> None:
    with pytest.raises(BrokenRuleAggregateError, match="at least one line"):
        executor.execute(Order.place("o1"), rule=ORDER_RULES)

    assert not shop.orders.exists_by_id("o1")
    assert shop.published == []


def test_a_dry_run_says_what_would_be_refused_and_leaves_no_trace(
    shop: Shop, executor: ICommandExecutor
) -> None:
    order = Order.place("o1")

    result = executor.try_execute(order, Order.pay, rule=EntityRule(*ORDER_RULES, fail_fast=True))

    assert [error.code for error in result.broken_rules] == ["unit.order.no-lines"]
    assert isinstance(result.refusal, BrokenRuleError)
    assert not order.paid
    assert [event.event_type for event in order.triggered_events.snapshot()] == [
        "unit.order.placed"
    ]
    assert not shop.orders.exists_by_id("o1")
    assert shop.published == []


def test_a_dry_run_of_what_would_go_through_leaves_no_trace(
    shop: Shop, executor: ICommandExecutor
) -> None:
    executor.execute(Order.place("o1", "cup"))

    assert executor.try_execute(lambda work: work.get(Order, "o1"), Order.pay).is_satisfied
    assert not shop.stored("o1").paid
    assert shop.published == ["order.placed"]


def test_a_dry_run_reports_what_refuses_to_make_the_aggregate(executor: ICommandExecutor) -> None:
    def refuse(_: object) -> Order:
        raise OrderPaidError("o1")

    assert isinstance(executor.try_execute(refuse).refusal, OrderPaidError)


def test_an_aggregate_that_is_not_there_is_no_answer_of_a_dry_run(
    executor: ICommandExecutor,
) -> None:
    for call in (executor.execute, executor.try_execute):
        with pytest.raises(AggregateNotFoundError):
            call(lambda work: work.get(Order, "o1"))


def test_what_makes_no_units_of_work_is_refused() -> None:
    wrong: Any = 5
    with pytest.raises(TypeError, match="units_of_work = 5: give a function"):
        CommandExecutor(wrong)
    with pytest.raises(TypeError, match="commands = 5"):
        ApplicationService(wrong)


def test_a_result_of_a_dry_run_raises_what_the_commit_would_raise() -> None:
    DryRunResult().raise_if_refused()
    with pytest.raises(DomainError, match="no"):
        DryRunResult(DomainError("no")).raise_if_refused()


@attrs.frozen
class PlaceOrder:
    order_id: str
    lines: str


@attrs.frozen
class RenameLines:
    order_id: str
    lines: str


def split_lines(command: PlaceOrder | RenameLines) -> list[str]:
    return command.lines.split()


lines_of: IEntityPropertyResolver[PlaceOrder | RenameLines, list[str]] = split_lines


def place(command: PlaceOrder) -> Order:
    return Order.place(command.order_id, *lines_of(command))


def rename(order: Order, command: RenameLines) -> None:
    order.lines = lines_of(command)


@attrs.frozen
class OrderService(ApplicationService):
    make: EntityFactory[PlaceOrder, Order] = place
    update: EntityUpdater[Order, RenameLines] = rename

    def place(self, command: PlaceOrder) -> str:
        return self._create(lambda: self.make(command), rule=ORDER_RULES).id

    def try_place(self, command: PlaceOrder) -> DryRunResult:
        return self._try_create(lambda: self.make(command), rule=ORDER_RULES)

    def rename(self, command: RenameLines) -> None:
        self._change(
            Order, command.order_id, lambda order: self.update(order, command), rule=ORDER_RULES
        )

    def try_rename(self, command: RenameLines) -> DryRunResult:
        return self._try_change(
            Order, command.order_id, lambda order: self.update(order, command), rule=ORDER_RULES
        )


def test_an_application_service_makes_and_changes_aggregates(
    shop: Shop, executor: ICommandExecutor
) -> None:
    service = OrderService(executor)

    assert not service.try_place(PlaceOrder("o1", " ")).is_satisfied
    assert service.place(PlaceOrder("o1", "cup pot")) == "o1"
    assert not service.try_rename(RenameLines("o1", "")).is_satisfied
    service.rename(RenameLines("o1", "jug"))

    assert shop.stored("o1").lines == ["jug"]
