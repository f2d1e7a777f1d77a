"""Who listens to orders: the warehouse, which packs what is paid.

Events arrive at least once, so the same one may come again. What keeps a parcel from being packed
twice is the list itself: it holds an order once.
"""

import logging
from abc import abstractmethod
from typing import Protocol

import attrs

from examples.order_service.domain import OrderCancelled, OrderPaid
from pragmatic_ddd.ports import ISubscriberRegistry

_logger = logging.getLogger(__name__)


class IPackingList(Protocol):
    """The orders that are to be packed."""

    @abstractmethod
    def put(self, order_id: str) -> bool:
        """Put an order on the list; return whether it was not on it before."""

    @abstractmethod
    def remove(self, order_id: str) -> None:
        """Take an order off the list, if it is on it."""


@attrs.frozen
class Warehouse:
    packing_list: IPackingList

    def subscribe_to(self, events: ISubscriberRegistry) -> None:
        events.register_subscriber("warehouse-pack", OrderPaid, self.pack)
        events.register_subscriber("warehouse-unpack", OrderCancelled, self.unpack)

    def pack(self, paid: OrderPaid) -> None:
        is_new = self.packing_list.put(paid.aggregate_id)
        _logger.info("order %s %s", paid.aggregate_id, "to pack" if is_new else "came again")

    def unpack(self, cancelled: OrderCancelled) -> None:
        self.packing_list.remove(cancelled.aggregate_id)
        cause = cancelled.operation_code  # by its customer, or with the account
        _logger.info("order %s not to pack: %s", cancelled.aggregate_id, cause)
