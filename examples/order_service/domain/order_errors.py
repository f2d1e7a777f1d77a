"""The rules of an order, each an error of its own that names the order."""

from pragmatic_ddd import DomainError


class _OrderError(DomainError):
    rule = ""

    def __init__(self, order_id: str) -> None:
        super().__init__(order_id)
        self.order_id = order_id

    def __str__(self) -> str:
        return f"order {self.order_id} {self.rule}"


class OrderWithoutLinesError(_OrderError):
    """An order has at least one line."""

    rule = "has no lines"


class OrderAlreadyPaidError(_OrderError):
    """An order is paid once, and stays as it was paid."""

    rule = "is paid already"


class OrderNotPaidError(_OrderError):
    """Only what is paid is shipped."""

    rule = "is not paid"


class OrderShippedError(_OrderError):
    """What has left the house cannot be changed."""

    rule = "is shipped already"


class OrderCancelledError(_OrderError):
    """A cancelled order stays cancelled."""

    rule = "is cancelled"
