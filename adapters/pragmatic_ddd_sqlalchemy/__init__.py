"""The outbox on SQLAlchemy: table, store, unit of work, and a hook for any sessionmaker."""

from pragmatic_ddd_sqlalchemy.aggregate_version_resolver import (
    SqlAlchemyAggregateVersionResolver,
)
from pragmatic_ddd_sqlalchemy.column_types import (
    EnumValueType,
    ExactDecimalType,
    UtcInstantType,
    ValueObjectType,
)
from pragmatic_ddd_sqlalchemy.engine import (
    create_memory_engine,
    create_sqlite_engine,
    make_sqlite_safe,
    read_only,
    refuse_unsafe,
)
from pragmatic_ddd_sqlalchemy.event_places import EventPlaces
from pragmatic_ddd_sqlalchemy.event_places_table import event_places_ddl, event_places_table
from pragmatic_ddd_sqlalchemy.id_segment_table import id_segment_ddl, id_segment_table
from pragmatic_ddd_sqlalchemy.inbox import SqlAlchemyInbox
from pragmatic_ddd_sqlalchemy.inbox_table import (
    inbox_ddl,
    inbox_table,
    watermark_ddl,
    watermark_table,
)
from pragmatic_ddd_sqlalchemy.keyset import Keyset
from pragmatic_ddd_sqlalchemy.ordered_query import OrderedQuery
from pragmatic_ddd_sqlalchemy.outbox import SqlAlchemyOutbox
from pragmatic_ddd_sqlalchemy.projection_materializer import SqlAlchemyProjectionMaterializer
from pragmatic_ddd_sqlalchemy.repository import Repository
from pragmatic_ddd_sqlalchemy.schema import validate_schema
from pragmatic_ddd_sqlalchemy.segment_allocator import SqlAlchemySegmentAllocator
from pragmatic_ddd_sqlalchemy.store import SqlAlchemyOutboxStore
from pragmatic_ddd_sqlalchemy.table import ddl, metadata, outbox_message, outbox_table
from pragmatic_ddd_sqlalchemy.transactions import SqlAlchemyTransactionOperations
from pragmatic_ddd_sqlalchemy.unit_of_work import SqlAlchemyUnitOfWork
from pragmatic_ddd_sqlalchemy.units_of_work import SqlAlchemyUnitsOfWork
from pragmatic_ddd_sqlalchemy.watermark_inbox import SqlAlchemyWatermarkInbox

__all__ = [
    "EnumValueType",
    "EventPlaces",
    "ExactDecimalType",
    "Keyset",
    "OrderedQuery",
    "Repository",
    "SqlAlchemyAggregateVersionResolver",
    "SqlAlchemyInbox",
    "SqlAlchemyOutbox",
    "SqlAlchemyOutboxStore",
    "SqlAlchemyProjectionMaterializer",
    "SqlAlchemySegmentAllocator",
    "SqlAlchemyTransactionOperations",
    "SqlAlchemyUnitOfWork",
    "SqlAlchemyUnitsOfWork",
    "SqlAlchemyWatermarkInbox",
    "UtcInstantType",
    "ValueObjectType",
    "create_memory_engine",
    "create_sqlite_engine",
    "ddl",
    "event_places_ddl",
    "event_places_table",
    "id_segment_ddl",
    "id_segment_table",
    "inbox_ddl",
    "inbox_table",
    "make_sqlite_safe",
    "metadata",
    "outbox_message",
    "outbox_table",
    "read_only",
    "refuse_unsafe",
    "validate_schema",
    "watermark_ddl",
    "watermark_table",
]
