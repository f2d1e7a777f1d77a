from collections.abc import Callable

import pytest

from pragmatic_ddd.ports import PageRequest, PageResult


def test_pages_are_numbered_from_one() -> None:
    assert [PageRequest(number=one, size=20).offset for one in (1, 2, 3)] == [0, 20, 40]


@pytest.mark.parametrize("name", ["number", "size"])
def test_a_page_that_cannot_be_is_refused(name: str) -> None:
    make: Callable[..., object] = PageRequest
    with pytest.raises(ValueError, match=f"^{name} = 0: at least 1$"):
        make(**{name: 0})
    for wrong in ("1", 1.0, True):
        with pytest.raises(TypeError, match=f"^{name} = {wrong!r}: give an int$"):
            make(**{name: wrong})


@pytest.mark.parametrize(("total", "pages"), [(0, 0), (1, 1), (3, 1), (4, 2), (None, None)])
def test_a_last_page_need_not_be_full(total: int | None, pages: int | None) -> None:
    page = PageResult[int](rows=(), number=1, size=3, has_next=False, total=total)

    assert page.page_count == pages


def test_a_page_of_other_rows_is_the_same_page() -> None:
    page = PageResult(rows=(1, 2), number=3, size=2, has_next=True, total=9)

    assert page.map(str) == PageResult(rows=("1", "2"), number=3, size=2, has_next=True, total=9)


def test_a_page_further_than_databases_count_is_refused() -> None:
    assert PageRequest(number=1, size=2**63 - 2).size == 2**63 - 2
    for number, size in ((1, 2**63 - 1), (10**18, 20)):
        with pytest.raises(ValueError, match=rf"^number = {number}: with size = {size} it is"):
            PageRequest(number=number, size=size)
