"""What a type checker must see of the domain; ``make check`` runs it, nothing executes it.

Each ``type: ignore`` states a mistake that must be refused: mypy warns of one that is not needed.
"""

import datetime as dt
from typing import assert_type

from pragmatic_ddd import AggregateRoot, DomainEvent, IUnitOfWork
from pragmatic_ddd.domain import EntityRule, MessageCode, RuleItem
from pragmatic_ddd.ports import DryRunResult, ICommandExecutor


class OrderPaid(DomainEvent, name="types.order.paid"):
    cents: int


class Order(AggregateRoot, name="types.order"):
    id: str
    cents: int
    paid: bool = False


def fields_are_keyword_arguments() -> None:
    order = Order(id="o1", cents=1)
    assert_type(order.id, str)
    assert_type(order.paid, bool)
    assert_type(order.version, int)
    assert_type(order.is_new, bool)
    Order(cents=1)  # type: ignore[call-arg]
    Order(id="o1", cents="1")  # type: ignore[arg-type]
    Order("o1", 1)  # type: ignore[call-arg]


def events_are_immutable() -> None:
    event = OrderPaid(aggregate_id="o1", cents=1)
    assert_type(event.occurred_at, dt.datetime)
    assert_type(event.placed_at(1, 0), OrderPaid)
    event.cents = 2  # type: ignore[misc]
    OrderPaid(cents=1)  # type: ignore[call-arg]


def a_unit_of_work_knows_what_it_loads(work: IUnitOfWork) -> None:
    assert_type(work.get(Order, "o1"), Order)
    work.get(OrderPaid, "o1")  # type: ignore[type-var]


RULES = EntityRule[Order](
    RuleItem(MessageCode("types.order.free", "it costs something"), lambda order: order.cents > 0),
    RuleItem(
        MessageCode("types.order.less", "less"), change=lambda new, old: new.cents > old.cents
    ),
)


class Invoice(AggregateRoot, name="types.invoice"):
    id: int


def rules_and_logic_fit_the_aggregate(work: IUnitOfWork, commands: ICommandExecutor) -> None:
    order, invoice = Order(id="o1", cents=1), Invoice(id=1)
    work.register(order, rule=RULES, logic=lambda one: assert_type(one, Order))
    work.register(invoice, rule=RULES)  # type: ignore[misc]
    assert_type(commands.execute(order, rule=RULES), Order)
    assert_type(commands.execute(lambda work: work.get(Order, "o1"), rule=RULES), Order)
    assert_type(commands.try_execute(invoice), DryRunResult)
    commands.execute(invoice, rule=RULES)  # type: ignore[arg-type]
    RULES.check(invoice)  # type: ignore[arg-type]
