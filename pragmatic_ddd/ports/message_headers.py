"""Names of the headers of an ``OutboxMessage`` that every part of the framework means alike.

Others are the application's own. ``EventEncoding`` writes the operation code; the application's
``headers`` function brings the ids and the trace context, where it has them.
"""

from typing import Final

OPERATION_CODE: Final = "operation-code"  # the business operation that caused the event
CORRELATION_ID: Final = "correlation-id"  # what all messages of one conversation share
CAUSATION_ID: Final = "causation-id"  # id of the message that led to this one
TRACEPARENT: Final = "traceparent"  # W3C trace context
TRACESTATE: Final = "tracestate"  # W3C trace context
PREVIOUS_PLACE: Final = "previousplace"  # "version.index" of the aggregate's event before
AGGREGATE_EPOCH: Final = "aggregateepoch"  # how often the id was deleted and created anew
OCCURRED_AT: Final = "occurred-at"  # when it happened, as RFC 3339, where the body does not say it
DATA_SCHEMA: Final = "dataschema"  # URI of the schema that the body has
