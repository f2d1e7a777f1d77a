"""The names of what every broker carries beside the body: CloudEvents 1.0, and ours."""

import re
from typing import Final

import attrs

from pragmatic_ddd.application.arguments import shown

# CloudEvents 1.0
SPECVERSION: Final = "specversion"
ID: Final = "id"
SOURCE: Final = "source"
TYPE: Final = "type"
SUBJECT: Final = "subject"
TIME: Final = "time"
DATACONTENTTYPE: Final = "datacontenttype"
DATASCHEMA: Final = "dataschema"

# Extensions. The first two are the documented one for distributed tracing.
TRACEPARENT: Final = "traceparent"
TRACESTATE: Final = "tracestate"
AGGREGATETYPE: Final = "aggregatetype"
AGGREGATEVERSION: Final = "aggregateversion"
EVENTINDEX: Final = "eventindex"
EVENTVERSION: Final = "eventversion"
PREVIOUSPLACE: Final = "previousplace"
AGGREGATEEPOCH: Final = "aggregateepoch"
CORRELATIONID: Final = "correlationid"
CAUSATIONID: Final = "causationid"
OPERATIONCODE: Final = "operationcode"
HEADERS: Final = "headers"
SUBSCRIBER: Final = "subscriber"
ONLYTHIS: Final = "onlythis"
CONSUMERGROUP: Final = "consumergroup"

ATTRIBUTES: Final = (
    SPECVERSION,
    ID,
    SOURCE,
    TYPE,
    SUBJECT,
    TIME,
    DATACONTENTTYPE,
    DATASCHEMA,
    TRACEPARENT,
    TRACESTATE,
    AGGREGATETYPE,
    AGGREGATEVERSION,
    EVENTINDEX,
    EVENTVERSION,
    PREVIOUSPLACE,
    AGGREGATEEPOCH,
    CORRELATIONID,
    CAUSATIONID,
    OPERATIONCODE,
    HEADERS,
    SUBSCRIBER,
    ONLYTHIS,
    CONSUMERGROUP,
)

DEFAULT_SOURCE: Final = "/"

_IS_SOURCE = re.compile(r"[A-Za-z0-9._~:/?#@!$&'()*+,;=%\[\]-]+")


def is_source(_: object, attribute: "attrs.Attribute[str]", value: object) -> None:
    """Check who sends, as a validator of an attrs field: a URI reference, not empty.

    Raises:
        ValueError: It is not.
    """
    if not isinstance(value, str) or not _IS_SOURCE.fullmatch(value):
        raise ValueError(
            f"{attribute.name} = {shown(value)}: a URI reference, such as /shop or "
            f"https://shop.example/orders"
        )
