"""The tables of this service, in a database of its own: shipments, and beside them the inbox."""

import sqlalchemy as sa
from sqlalchemy.orm import registry

from examples.shipping_service.shipment import Shipment, ShipmentStatus
from pragmatic_ddd_sqlalchemy import EnumValueType, inbox_table, outbox_table

metadata = sa.MetaData()

shipment = sa.Table(
    "shipment",
    metadata,
    sa.Column("id", sa.String(40), primary_key=True),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("status", EnumValueType(ShipmentStatus), nullable=False),
    sa.Column("labels", sa.Integer, nullable=False),
)

inbox_message = inbox_table(metadata)
outbox_message = outbox_table(metadata)


def map_shipments() -> None:
    """Map the class to its table, once per process."""
    if sa.inspect(Shipment, raiseerr=False) is None:
        registry().map_imperatively(Shipment, shipment, version_id_col=shipment.c.version)
