"""A shipment: what this service keeps of a paid order."""

import enum

from pragmatic_ddd import AggregateRoot


class ShipmentStatus(enum.Enum):
    PREPARED = "prepared"
    STOPPED = "stopped"


class Shipment(AggregateRoot, name="shipping.shipment"):
    """Its id is that of its order."""

    status: ShipmentStatus = ShipmentStatus.PREPARED
    labels: int = 0

    def prepare(self) -> None:
        """Print a label, which must not happen twice."""
        self.labels += 1

    def stop(self) -> None:
        self.status = ShipmentStatus.STOPPED
