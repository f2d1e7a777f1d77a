"""How values of the domain become columns, the same on every database."""

import sqlalchemy as sa

from examples.order_service.domain import Money, OrderStatus


class MoneyColumn(sa.types.TypeDecorator[Money]):
    """Text such as ``12.50 EUR``: exact everywhere, where SQLite would make a float of a decimal.

    A shop that sums amounts in SQL takes two columns and ``sqlalchemy.orm.composite``.
    """

    impl = sa.String(40)
    cache_ok = True

    def process_bind_param(self, value: Money | None, _dialect: sa.Dialect) -> str | None:
        return None if value is None else str(value)

    def process_result_value(self, value: str | None, _dialect: sa.Dialect) -> Money | None:
        return None if value is None else Money.of(value)


class OrderStatusColumn(sa.types.TypeDecorator[OrderStatus]):
    """The value of the status, not the name that it has in the code."""

    impl = sa.String(20)
    cache_ok = True

    def process_bind_param(self, value: OrderStatus | None, _dialect: sa.Dialect) -> str | None:
        return None if value is None else value.value

    def process_result_value(self, value: str | None, _dialect: sa.Dialect) -> OrderStatus | None:
        return None if value is None else OrderStatus(value)
