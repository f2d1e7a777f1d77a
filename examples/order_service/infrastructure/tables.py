"""The tables: two for orders, the outbox beside them, the list to read, the warehouse's list."""

import sqlalchemy as sa

from examples.order_service.domain import Money, OrderStatus
from pragmatic_ddd_orjson import ValueCodecs
from pragmatic_ddd_sqlalchemy import EnumValueType, ValueObjectType, outbox_table

metadata = sa.MetaData()
# One column; a shop that sums amounts in SQL takes two, and `sqlalchemy.orm.composite`.
_MONEY = ValueObjectType(ValueCodecs().codec(Money))
_STATUS = EnumValueType(OrderStatus)

shop_order = sa.Table(
    "shop_order",
    metadata,
    sa.Column("id", sa.String(40), primary_key=True),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("customer_id", sa.String(40), nullable=False, index=True),
    sa.Column("status", _STATUS, nullable=False),
)

shop_order_line = sa.Table(
    "shop_order_line",
    metadata,
    sa.Column("id", sa.String(40), primary_key=True),
    sa.Column("order_id", sa.ForeignKey(shop_order.c.id), nullable=False, index=True),
    sa.Column("number", sa.Integer, nullable=False),
    sa.Column("sku", sa.String(40), nullable=False),
    sa.Column("quantity", sa.Integer, nullable=False),
    sa.Column("unit_price", _MONEY, nullable=False),
)

outbox_message = outbox_table(metadata)

order_list = sa.Table(
    "order_list",
    metadata,
    sa.Column("order_id", sa.String(40), primary_key=True),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("customer_id", sa.String(40), nullable=False),
    sa.Column("status", _STATUS, nullable=False),
    sa.Column("total", _MONEY, nullable=False),
    sa.Index("ix_order_list_customer", "customer_id", "order_id"),
)

packing_list = sa.Table(
    "warehouse_packing_list",
    metadata,
    sa.Column("order_id", sa.String(40), primary_key=True),
)
