from collections.abc import Callable

import attrs
import pytest

from pragmatic_ddd import AggregateRoot
from pragmatic_ddd.application.queries import ProjectorRegistry
from pragmatic_ddd.errors import ConfigurationError


class Order(AggregateRoot, name="test.order"):
    total: int = 0


class RushOrder(Order):
    pass


@attrs.frozen
class Summary:
    text: str


@attrs.frozen
class Invoice:
    total: int


@pytest.fixture
def projectors() -> ProjectorRegistry:
    registry = ProjectorRegistry()
    registry.register(Order, Summary, lambda order: Summary(f"order {order.id}"))
    registry.register(Order, Invoice, lambda order: Invoice(order.total))
    return registry


def test_the_types_of_source_and_view_say_which_projector(projectors: ProjectorRegistry) -> None:
    order = Order(id="o1", total=5)

    assert projectors.project(order, Summary) == Summary("order o1")
    assert projectors.project(order, Invoice) == Invoice(5)


def test_a_subclass_is_projected_as_its_base_unless_it_has_a_projector_of_its_own(
    projectors: ProjectorRegistry,
) -> None:
    rush = RushOrder(id="o2", total=7)
    assert projectors.project(rush, Summary) == Summary("order o2")

    projectors.register(RushOrder, Summary, lambda order: Summary(f"rush {order.id}"))
    assert projectors.project(rush, Summary) == Summary("rush o2")
    assert projectors.project(Order(id="o1"), Summary) == Summary("order o1")


def test_many_are_projected_in_their_order(projectors: ProjectorRegistry) -> None:
    orders = (Order(id="o1", total=one) for one in (3, 1, 2))

    assert projectors.project_all(orders, Invoice) == [Invoice(3), Invoice(1), Invoice(2)]


def test_a_second_projector_is_refused_and_the_first_stays(projectors: ProjectorRegistry) -> None:
    with pytest.raises(ConfigurationError, match="Order to Invoice has a projector already"):
        projectors.register(Order, Invoice, lambda _: Invoice(0))

    assert projectors.project(Order(id="o1", total=5), Invoice) == Invoice(5)


def test_what_nobody_projects_is_named(projectors: ProjectorRegistry) -> None:
    with pytest.raises(ConfigurationError, match="the projection of Summary to Invoice has no"):
        projectors.project(Summary("x"), Invoice)


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        (("Order", Summary, str), r"^source_type = 'Order': give a type$"),
        ((Order, "Summary", str), r"^view_type = 'Summary': give a type$"),
        ((Order, Summary, "str"), r"^projector = 'str': give a function$"),
    ],
)
def test_a_wrong_part_is_named(given: tuple[object, ...], complaint: str) -> None:
    register: Callable[..., object] = ProjectorRegistry().register
    with pytest.raises(TypeError, match=complaint):
        register(*given)
