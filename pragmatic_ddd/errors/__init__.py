"""The errors of the framework, all in one tree.

    PragmaticError
    ├── DomainError                      a rule of the model was broken
    │   ├── BrokenRuleError              the first broken rule of a model
    │   ├── BrokenRuleAggregateError     all broken rules of a model
    │   ├── ForeignEventError            an aggregate collected an event of another aggregate
    │   └── OperationError               an operation is not registered, or an event has no cause
    ├── UnitOfWorkError                  a unit of work was used in a way that it does not allow
    │   ├── AggregateNotFoundError       no aggregate of that type has that id
    │   └── ConcurrencyError             retryable: somebody else changed the aggregate first
    ├── ScrollPositionError              a position is not one of this order, or was changed
    ├── ReconciliationError              retryable: a view differs from its aggregate after a repair
    ├── ConfigurationError               settings or wiring are wrong; names each problem
    ├── SubscriptionError                subscribers cannot be registered, or do not exist, as asked
    ├── EventTypeError                   event classes cannot be registered, or read, as asked
    └── InfrastructureError              a database, a broker or a library failed
        ├── EventPublishError            retryable: this event could not be published
        │   ├── EventUnconfirmedError    retryable: no answer; its fault or the broker's, unknown
        │   ├── BrokerUnavailableError   retryable: it cannot be reached; no event's fault
        │   └── EventRejectedError       final: the broker or the adapter refuses this event
        ├── EventSerializationError      final: a value cannot be written; names event and field
        ├── EventDeserializationError    final: a payload cannot be read; names event and field
        ├── UnknownEventTypeError        retryable: this code does not know the name or the version
        ├── IdAllocationError            retryable: no ids could be reserved, or not in time
        │   ├── UnknownIdSequenceError   final: no sequence has that name
        │   └── IdSequenceExhaustedError final: the sequence has come to its end
        ├── OutboxStoreError             retryable: the database failed
        ├── OutboxSchemaError            final: the live table is not what the outbox needs
        ├── EventGapError                retryable: events before this one were not handled yet
        ├── UnplacedEventError           final: an inbox goes by places, and the event has none
        ├── AclError                     another system could not be asked, or not understood
        │   ├── AclConversionError       final: request or answer cannot be converted
        │   ├── AclCommunicationError    retryable: no answer, and repeating does no harm
        │   ├── AclOutcomeUnknownError   final: no answer; what was asked for may have been done
        │   └── AclRefusedError          final: the other system says no
        ├── BroadcastError               a message for other systems was not sent
        │   ├── BroadcastEnvelopeError   final: it cannot be written
        │   └── BroadcastSendError       retryable: not sent, or not confirmed
        └── MissingDependencyError       final: a library is not installed; says what to install

Besides, ``pragmatic_ddd.application.events`` has a ``SubscribersFailedError``, and adapters have
errors of their start.

Adapters translate: no SQLAlchemy, RocketMQ or orjson exception crosses a port.
``retryable`` is a class attribute because the relay decides from it.
"""

from pragmatic_ddd.errors.broadcast import (
    BroadcastEnvelopeError,
    BroadcastError,
    BroadcastSendError,
)
from pragmatic_ddd.errors.gateways import (
    AclCommunicationError,
    AclConversionError,
    AclError,
    AclOutcomeUnknownError,
    AclRefusedError,
)
from pragmatic_ddd.errors.identifiers import (
    IdAllocationError,
    IdSequenceExhaustedError,
    UnknownIdSequenceError,
)
from pragmatic_ddd.errors.inbox import EventGapError, UnplacedEventError
from pragmatic_ddd.errors.model import (
    BrokenRuleAggregateError,
    BrokenRuleError,
    ForeignEventError,
    OperationError,
)
from pragmatic_ddd.errors.outbox import (
    OutboxSchemaError,
    OutboxStoreError,
)
from pragmatic_ddd.errors.publishing import (
    BrokerUnavailableError,
    EventPublishError,
    EventRejectedError,
    EventUnconfirmedError,
)
from pragmatic_ddd.errors.read_side import (
    ReconciliationError,
    ScrollPositionError,
)
from pragmatic_ddd.errors.root import (
    DomainError,
    InfrastructureError,
    PragmaticError,
)
from pragmatic_ddd.errors.serialization import (
    EventDeserializationError,
    EventSerializationError,
    UnknownEventTypeError,
)
from pragmatic_ddd.errors.units_of_work import (
    AggregateNotFoundError,
    ConcurrencyError,
    UnitOfWorkError,
)
from pragmatic_ddd.errors.wiring import (
    ConfigurationError,
    EventTypeError,
    MissingDependencyError,
    SubscriptionError,
)

__all__ = [
    "AclCommunicationError",
    "AclConversionError",
    "AclError",
    "AclOutcomeUnknownError",
    "AclRefusedError",
    "AggregateNotFoundError",
    "BroadcastEnvelopeError",
    "BroadcastError",
    "BroadcastSendError",
    "BrokenRuleAggregateError",
    "BrokenRuleError",
    "BrokerUnavailableError",
    "ConcurrencyError",
    "ConfigurationError",
    "DomainError",
    "EventDeserializationError",
    "EventGapError",
    "EventPublishError",
    "EventRejectedError",
    "EventSerializationError",
    "EventTypeError",
    "EventUnconfirmedError",
    "ForeignEventError",
    "IdAllocationError",
    "IdSequenceExhaustedError",
    "InfrastructureError",
    "MissingDependencyError",
    "OperationError",
    "OutboxSchemaError",
    "OutboxStoreError",
    "PragmaticError",
    "ReconciliationError",
    "ScrollPositionError",
    "SubscriptionError",
    "UnitOfWorkError",
    "UnknownEventTypeError",
    "UnknownIdSequenceError",
    "UnplacedEventError",
]
