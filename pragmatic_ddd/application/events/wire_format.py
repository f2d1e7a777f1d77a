"""Events on the wire: what every broker carries beside the body, in the names of CloudEvents 1.0.

    body          the event's JSON, byte for byte as it was stored
    attributes    text by name: ``type``, ``id``, ``subject``, ...; see the table of names below

An adapter adds the prefix of its broker's binding to each name and brings the attributes back
without it. An attribute without a value is left out; none is ever empty.
"""

import json
import re
from collections.abc import Mapping
from typing import Final

from pragmatic_ddd.application.arguments import shown
from pragmatic_ddd.application.events.addressee import EVERYBODY, Addressee
from pragmatic_ddd.application.events.body_time import occurred_at_in
from pragmatic_ddd.application.events.received_event import ReceivedEvent
from pragmatic_ddd.application.events.wire_attributes import (
    AGGREGATEEPOCH,
    AGGREGATETYPE,
    AGGREGATEVERSION,
    CAUSATIONID,
    CONSUMERGROUP,
    CORRELATIONID,
    DATACONTENTTYPE,
    DATASCHEMA,
    DEFAULT_SOURCE,
    EVENTINDEX,
    EVENTVERSION,
    HEADERS,
    ID,
    ONLYTHIS,
    OPERATIONCODE,
    PREVIOUSPLACE,
    SOURCE,
    SPECVERSION,
    SUBJECT,
    SUBSCRIBER,
    TIME,
    TRACEPARENT,
    TRACESTATE,
    TYPE,
)
from pragmatic_ddd.errors import EventDeserializationError
from pragmatic_ddd.ports import message_headers
from pragmatic_ddd.ports.outbox_message import OutboxMessage

_VERSION: Final = "1.0"
_JSON: Final = "application/json"
_TRUE: Final = "true"
_FALSE: Final = "false"
_LARGEST_NUMBER: Final = 2**63 - 1
_IS_JSON = re.compile(r"application/(?:[\w.+-]+\+)?json\s*(?:;.*)?", re.IGNORECASE)
_STRUCTURED: Final = "application/cloudevents"

# Headers that are attributes of their own; the other ones travel together in ``headers``.
_ATTRIBUTE_OF_HEADER: Final = {
    message_headers.OPERATION_CODE: OPERATIONCODE,
    message_headers.CORRELATION_ID: CORRELATIONID,
    message_headers.CAUSATION_ID: CAUSATIONID,
    message_headers.TRACEPARENT: TRACEPARENT,
    message_headers.TRACESTATE: TRACESTATE,
    message_headers.PREVIOUS_PLACE: PREVIOUSPLACE,
    message_headers.AGGREGATE_EPOCH: AGGREGATEEPOCH,
    message_headers.OCCURRED_AT: TIME,
    message_headers.DATA_SCHEMA: DATASCHEMA,
}

_headers_writer = json.JSONEncoder(ensure_ascii=False)  # json.dumps would make one each time


class _UnfitError(ValueError):
    """An attribute does not say what it should."""

    def __init__(self, name: str, rule: str) -> None:
        super().__init__(rule)
        self.name = name


def attributes_of(
    message: OutboxMessage, addressee: Addressee = EVERYBODY, *, source: str = DEFAULT_SOURCE
) -> dict[str, str]:
    """Return the attributes of an event's message, names without a prefix, no value empty.

    Args:
        message: The event as it was stored. Its id, type and aggregate id are not empty.
        addressee: Whom it is for.
        source: Who sends it: a URI reference; ids are unique within it.
    """
    attributes = {
        SPECVERSION: _VERSION,
        ID: message.message_id,
        SOURCE: source,
        TYPE: message.event_type,
        SUBJECT: message.aggregate_id,
        DATACONTENTTYPE: _JSON,
        EVENTINDEX: str(message.event_index),
        EVENTVERSION: str(message.event_version),
    }
    occurred_at = occurred_at_in(message.payload)
    if occurred_at is not None:
        attributes[TIME] = occurred_at
    if message.aggregate_type:
        attributes[AGGREGATETYPE] = message.aggregate_type
    if message.aggregate_version is not None:
        attributes[AGGREGATEVERSION] = str(message.aggregate_version)
    if message.headers:
        _add_headers(attributes, message.headers)
    if addressee is not EVERYBODY:
        _add_addressee(attributes, addressee)
    return attributes


def received_event(
    attributes: Mapping[str, str], body: bytes, *, where: str, topic: str = ""
) -> ReceivedEvent:
    """Return what a received message says of the event in it; unknown attributes are passed over.

    Args:
        attributes: What came beside the body, names without a prefix. An empty value is none.
        body: The event's JSON.
        where: Which message this is, for errors: its id, topic and place.
        topic: Where it came from.

    Raises:
        EventDeserializationError: An attribute is missing or does not say what it should, or the
            body is no event's; names ``where``, the attribute and the rule.
    """
    try:
        _check_format(attributes)
        return ReceivedEvent(
            message=_message(attributes, body), addressee=_addressee(attributes), topic=topic
        )
    except ValueError as error:
        field = f"attributes[{error.name!r}]" if isinstance(error, _UnfitError) else ""
        event_type = attributes.get(TYPE, "")
        raise EventDeserializationError(event_type, field, f"{where}: {error}") from error


def _add_headers(attributes: dict[str, str], headers: Mapping[str, str]) -> None:
    others: dict[str, str] = {}
    for name, value in headers.items():
        if value and name in _ATTRIBUTE_OF_HEADER:
            attributes[_ATTRIBUTE_OF_HEADER[name]] = value
        else:
            others[name] = value
    if others:
        attributes[HEADERS] = _headers_writer.encode(others)


def _add_addressee(attributes: dict[str, str], addressee: Addressee) -> None:
    if addressee.subscriber is not None:
        attributes[SUBSCRIBER] = addressee.subscriber
    if addressee.only_this:
        attributes[ONLYTHIS] = _TRUE
    if addressee.consumer_group is not None:
        attributes[CONSUMERGROUP] = addressee.consumer_group


def _check_format(attributes: Mapping[str, str]) -> None:
    version = _needed(attributes, SPECVERSION)
    if version != _VERSION:
        raise _UnfitError(SPECVERSION, f"{shown(version)}: {_VERSION} is understood")
    content_type = attributes.get(DATACONTENTTYPE) or _JSON  # the broker's own may have told
    if content_type.lower().startswith(_STRUCTURED):
        raise _UnfitError(DATACONTENTTYPE, f"{shown(content_type)}: binary mode is understood")
    if not _IS_JSON.fullmatch(content_type):
        raise _UnfitError(DATACONTENTTYPE, f"{shown(content_type)}: {_JSON} is understood")


def _message(attributes: Mapping[str, str], body: bytes) -> OutboxMessage:
    return OutboxMessage(
        message_id=_needed(attributes, ID),
        aggregate_type=attributes.get(AGGREGATETYPE, ""),
        aggregate_id=_needed(attributes, SUBJECT),
        aggregate_version=_whole_number(attributes, AGGREGATEVERSION, at_least=0),
        event_index=_whole_number(attributes, EVENTINDEX, at_least=0) or 0,
        event_type=_needed(attributes, TYPE),
        event_version=_whole_number(attributes, EVENTVERSION, at_least=1) or 1,
        payload=body,
        headers=_headers(attributes, body),
    )


def _addressee(attributes: Mapping[str, str]) -> Addressee:
    only_this = attributes.get(ONLYTHIS) or _FALSE
    if only_this not in (_TRUE, _FALSE):
        raise _UnfitError(ONLYTHIS, f"{shown(only_this)}: {_TRUE} or {_FALSE}")
    subscriber = attributes.get(SUBSCRIBER) or None
    group = attributes.get(CONSUMERGROUP) or None
    if subscriber is None and group is None and only_this == _FALSE:
        return EVERYBODY
    return Addressee(subscriber=subscriber, only_this=only_this == _TRUE, consumer_group=group)


def _needed(attributes: Mapping[str, str], name: str) -> str:
    value = attributes.get(name)
    if not value:
        raise _UnfitError(name, "missing")
    return value


def _whole_number(attributes: Mapping[str, str], name: str, *, at_least: int) -> int | None:
    text = attributes.get(name)
    if not text:
        return None
    if text.isascii() and text.isdigit() and len(text) <= len(str(_LARGEST_NUMBER)):
        number = int(text)
        if at_least <= number <= _LARGEST_NUMBER:
            return number
    raise _UnfitError(
        name, f"{shown(text)}: a whole number from {at_least} to {_LARGEST_NUMBER}, in digits"
    )


def _headers(attributes: Mapping[str, str], body: bytes) -> dict[str, str]:
    headers = _other_headers(attributes.get(HEADERS))
    for name, attribute in _ATTRIBUTE_OF_HEADER.items():
        value = attributes.get(attribute)
        if value and not (attribute == TIME and value == occurred_at_in(body)):
            headers[name] = value
    return headers


def _other_headers(text: str | None) -> dict[str, str]:
    if not text:
        return {}
    try:
        headers: object = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _UnfitError(HEADERS, f"no JSON: {error}") from error
    if not isinstance(headers, dict):
        raise _UnfitError(HEADERS, "no JSON object")
    for name, value in headers.items():
        if not isinstance(value, str):
            raise _UnfitError(HEADERS, f"the value of {shown(name)} is no text")
        if not (_is_unicode(name) and _is_unicode(value)):
            raise _UnfitError(HEADERS, f"{shown(name)}: half a surrogate is no character")
    return headers


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
