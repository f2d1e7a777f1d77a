"""What type checkers know of repositories, pages and scrolling."""

from typing import assert_type

import sqlalchemy as sa
from sqlalchemy.orm import Session

from pragmatic_ddd import AggregateRoot
from pragmatic_ddd.ports import IRepository, PageRequest, PageResult, ScrollResult
from pragmatic_ddd_local import InMemoryRepository, InMemoryTransactionOperations
from pragmatic_ddd_sqlalchemy import Keyset, OrderedQuery, Repository


class Order(AggregateRoot, name="types.order"):
    total: int


def of_repositories(session: Session) -> None:
    orders = Repository(Order, session)
    assert_type(orders, Repository[Order])
    assert_type(orders.find_by_id("o1"), Order | None)
    port: IRepository[Order] = orders
    port = InMemoryRepository(Order, InMemoryTransactionOperations())
    assert_type(port.current_version("o1"), int | None)


def of_queries(session: Session, table: sa.Table) -> None:
    query = OrderedQuery(
        sa.select(table), Keyset([table.c.id.desc()]), lambda _: Order(id=1, total=1)
    )
    assert_type(query.page(session, PageRequest()), PageResult[Order])
    assert_type(query.scroll(session, limit=1), ScrollResult[Order])
    assert_type(query.scroll(session, limit=1).map(str).rows, tuple[str, ...])
