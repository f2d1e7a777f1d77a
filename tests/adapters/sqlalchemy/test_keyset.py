"""Orders in which no two rows are equal, and positions in them."""

from collections.abc import Callable
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy import orm

from pragmatic_ddd.errors import ScrollPositionError
from pragmatic_ddd.ports import ScrollPosition
from pragmatic_ddd_sqlalchemy import Keyset

_metadata = sa.MetaData()
_orders = sa.Table(
    "orders",
    _metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("placed_on", sa.Date, nullable=False),
    sa.Column("paid_on", sa.Date),
    sa.Column("number", sa.Integer, nullable=False, unique=True),
    sa.Column("shop", sa.Integer, nullable=False),
    sa.Column("till", sa.Integer, nullable=False),
    sa.Column("coupon", sa.Integer, unique=True),
    sa.UniqueConstraint("shop", "placed_on"),
    sa.Index("ix_till", "till", "placed_on", unique=True),
)


class _Base(orm.DeclarativeBase):
    pass


class _Seat(_Base):
    __tablename__ = "seat"
    row: orm.Mapped[int] = orm.mapped_column(primary_key=True)
    number: orm.Mapped[int] = orm.mapped_column(primary_key=True)
    name: orm.Mapped[str]


_o = _orders.c
_ALIAS = orm.aliased(_Seat)


def test_columns_are_sorted_as_they_say() -> None:
    order = Keyset([_o.placed_on.desc(), _o.paid_on.nulls_last(), _o.id.asc()])

    assert [str(one) for one in order.order_by()] == [
        "orders.placed_on DESC",
        "orders.paid_on IS NULL",
        "orders.paid_on ASC",
        "orders.id ASC",
    ]


def test_nulls_that_come_first_do_so_on_every_database() -> None:
    order = Keyset([_o.paid_on.desc().nulls_first(), _o.id])

    assert [str(one) for one in order.order_by()][:2] == [
        "orders.paid_on IS NULL DESC",
        "orders.paid_on DESC",
    ]


@pytest.mark.parametrize(
    ("keys", "condition"),
    [
        ([_o.id], "orders.id > 1"),
        ([_o.id.desc()], "orders.id < 1"),
        ([_o.shop, _o.id], "orders.shop >= 1 AND (orders.shop, orders.id) > (1, 2)"),
        (
            [_o.shop.desc(), _o.id.desc()],
            "orders.shop <= 1 AND (orders.shop, orders.id) < (1, 2)",
        ),
        (
            [_o.shop.desc(), _o.id],
            "orders.shop <= 1 AND (orders.shop < 1 OR orders.shop = 1 AND orders.id > 2)",
        ),
        (
            [_o.coupon.nulls_last(), _o.id],
            "orders.coupon > 1 OR orders.coupon IS NULL OR orders.coupon = 1 AND orders.id > 2",
        ),
        (
            [_o.coupon.nulls_first(), _o.id],
            "orders.coupon > 1 OR orders.coupon = 1 AND orders.id > 2",
        ),
    ],
)
def test_a_row_is_behind_another_one(keys: list[sa.ColumnElement[object]], condition: str) -> None:
    order = Keyset(keys)
    behind = order.behind(order.position([1, 2][: len(keys)]))

    assert str(behind.compile(compile_kwargs={"literal_binds": True})) == condition


@pytest.mark.parametrize(
    "keys",
    [
        [_o.id],
        [_o.number],
        [_o.shop.desc(), _o.placed_on],
        [_o.placed_on, _o.till],
        [_Seat.number, _Seat.row.desc()],
        [sa.func.lower(_Seat.name).nulls_last(), _Seat.row, _Seat.number],
        [sa.select(_orders).subquery().c.id],
        [_ALIAS.row, _ALIAS.number],
    ],
)
def test_what_tells_rows_apart_is_an_order(keys: list[sa.ColumnElement[object]]) -> None:
    assert Keyset(keys).order_by()


@pytest.mark.parametrize(
    "keys",
    [
        [_o.placed_on],
        [_o.shop, _o.till],
        [_o.coupon.nulls_last()],
        [_Seat.row],
        [_Seat.row, orm.aliased(_Seat, name="other").number],
        [_Seat.row, _o.number.label("number").nulls_last()],
        [sa.func.abs(_o.id).nulls_last()],
        [sa.literal_column("1").nulls_last()],
    ],
)
def test_what_leaves_two_rows_equal_is_refused_unless_one_vouches_for_it(
    keys: list[sa.ColumnElement[object]],
) -> None:
    with pytest.raises(ValueError, match=r"two rows may have the same .*is_unique=True"):
        Keyset(keys)

    assert Keyset(keys, is_unique=True).order_by()


@pytest.mark.parametrize("nullable", [_o.paid_on, _o.paid_on.desc(), sa.func.abs(_o.id)])
def test_what_may_be_null_says_where_nulls_stand(nullable: sa.ColumnElement[object]) -> None:
    with pytest.raises(ValueError, match=r"^keys: .* may be NULL: say \.nulls_first\(\) or"):
        Keyset([nullable, _o.id])


def test_what_is_no_column_is_refused() -> None:
    make: Callable[..., object] = Keyset
    with pytest.raises(TypeError, match=r"^keys = 'id': give a ColumnElement$"):
        make(["id"])
    with pytest.raises(TypeError, match=r"^keys = <Column object>: give an Iterable$"):
        make(_o.id)
    with pytest.raises(ValueError, match=r"^keys = \[\]: at least one$"):
        make([])


def test_a_position_of_another_order_is_refused() -> None:
    order = Keyset([_o.shop, _o.id])
    others = [
        Keyset([_o.shop.desc(), _o.id]),
        Keyset([_o.shop.nulls_last(), _o.id]),
        Keyset([_o.till, _o.id]),
        Keyset([(_o.shop % 2).nulls_last(), _o.id]),
        Keyset([(_o.shop % 3).nulls_last(), _o.id]),
    ]

    assert len({other.position([1, 1]).order for other in others}) == len(others)
    for other in others:
        with pytest.raises(ScrollPositionError, match=r"another order than by orders.shop, or"):
            order.behind(other.position([1, 1]))


def test_an_order_is_the_same_in_each_process() -> None:
    assert Keyset([_o.shop, _o.id]).position([1, 2]).order == "1a2925617038a898"


def test_a_position_with_other_values_is_refused() -> None:
    order = Keyset([_o.shop, _o.id])
    position = order.position([1, 2])
    behind: Callable[..., object] = order.behind

    with pytest.raises(ScrollPositionError):
        behind(ScrollPosition(order=position.order, values=(1,)))
    with pytest.raises(TypeError, match=r"^position = '1,2': give a ScrollPosition$"):
        behind("1,2")


def test_a_null_that_should_not_be_there_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^orders.shop is NULL, as in an outer join"):
        Keyset([_o.shop, _o.id]).position([None, 1])


@pytest.mark.parametrize("kind", [sa.Float(), sa.Double(asdecimal=True)])
def test_floats_are_refused_also_where_they_are_read_as_decimals(kind: sa.Float[Any]) -> None:
    with pytest.raises(TypeError, match=r"^keys: weight is of floats, which come back rounded"):
        Keyset([sa.column("weight", kind).nulls_last(), _o.id])
