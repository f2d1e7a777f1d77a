import enum
from collections.abc import Callable
from decimal import Decimal

import pytest

from pragmatic_ddd.ports import ScrollPosition, ScrollResult


class _Size(enum.StrEnum):
    SMALL = "small"


def test_a_part_with_other_rows_is_the_same_part() -> None:
    position = ScrollPosition(order="by id", values=(2,))
    part = ScrollResult(rows=(1, 2), position=position, has_next=True)

    assert part.map(str) == ScrollResult(rows=("1", "2"), position=position, has_next=True)


@pytest.mark.parametrize("value", [1.5, _Size.SMALL, [1], object()])
def test_what_does_not_compare_exactly_is_no_sort_key(value: object) -> None:
    make: Callable[..., object] = ScrollPosition
    with pytest.raises(TypeError, match=r"^values: .*: sort by text, whole numbers, Decimals"):
        make(order="by it", values=[value])


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", "sNaN"])
def test_a_decimal_that_is_no_number_is_no_sort_key(value: str) -> None:
    with pytest.raises(ValueError, match=r"^values: .*: no number to compare with$"):
        ScrollPosition(order="by it", values=(1, Decimal(value)))
