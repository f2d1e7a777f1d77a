"""What lies on a topic of RocketMQ, read without consuming it: in no group's name, by offsets.

4 bytes  length of the record        8 + 4 + 8  their time of birth, sender's address and port
4        magic                       8 + 4 + 4  time and host of storing
4        checksum of the body        4          deliveries before
4        queue                       8          transaction
4        flag                        4 + n      body
8        offset in the queue         1 + n      topic
8        offset in the log           2 + n      properties: name 0x01 value 0x02 ...
4        flags, 1: compressed
"""

import json
import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tests.services import remoting
from tests.services.remoting import RemotingError, RequestCode, ResponseCode
from tests.services.rocketmq import broker_port, name_server_port

_READER = "pragmatic-ddd-test-reader"
_TAKES_SUBSCRIPTION = 4
_AT_ONCE = 32
_COMPRESSED = 1
_FIXED = struct.Struct(">4x4x4xI4xQQI8x8x8x8x4x8xI")
_NAME_END, _VALUE_END = "\x01", "\x02"
_NOTHING = {
    ResponseCode.PULL_NOT_FOUND,
    ResponseCode.PULL_RETRY_IMMEDIATELY,
    ResponseCode.PULL_OFFSET_MOVED,
    ResponseCode.TOPIC_NOT_EXIST,
}


@dataclass(frozen=True)
class StoredMessage:
    """A message as the broker keeps it.

    Attributes:
        queue: Number of its queue.
        offset: Its place in that queue.
        properties: Those of the sender, and RocketMQ's own.
        body: Its content.
    """

    queue: int
    offset: int
    properties: Mapping[str, str]
    body: bytes


def stored_messages(topic: str) -> list[StoredMessage]:
    """Return all that lies on a topic, queue by queue, oldest first; empty where it is missing.

    Raises:
        RemotingError: The broker refused.
        OSError: The broker or the name server is not there.
    """
    return [message for queue in range(_queue_count(topic)) for message in _messages(topic, queue)]


def _queue_count(topic: str) -> int:
    try:
        route = remoting.request(
            name_server_port(), RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": topic}
        )
    except RemotingError as error:
        if error.code == ResponseCode.TOPIC_NOT_EXIST:
            return 0
        raise
    return max(int(each["readQueueNums"]) for each in json.loads(route.body)["queueDatas"])


def _messages(topic: str, queue: int) -> Iterator[StoredMessage]:
    offset = 0
    while True:
        try:
            answer = remoting.request(
                broker_port(),
                RequestCode.PULL_MESSAGE,
                {
                    "consumerGroup": _READER,
                    "topic": topic,
                    "queueId": str(queue),
                    "queueOffset": str(offset),
                    "maxMsgNums": str(_AT_ONCE),
                    "sysFlag": str(_TAKES_SUBSCRIPTION),
                    "commitOffset": "0",
                    "suspendTimeoutMillis": "0",
                    "subscription": "*",
                    "subVersion": "0",
                    "expressionType": "TAG",
                },
            )
        except RemotingError as error:
            if error.code in _NOTHING:
                return
            raise
        yield from _decoded(answer.body)
        offset = int(answer.fields["nextBeginOffset"])


def _decoded(records: bytes) -> Iterator[StoredMessage]:
    start = 0
    while start < len(records):
        (size,) = struct.unpack_from(">I", records, start)
        yield _one(records[start : start + size])
        start += size


def _one(record: bytes) -> StoredMessage:
    queue, offset, _, flags, body_size = _FIXED.unpack_from(record)
    end = _FIXED.size + body_size
    body = record[_FIXED.size : end]
    end += 1 + record[end]
    (size,) = struct.unpack_from(">H", record, end)
    pairs = record[end + 2 : end + 2 + size].decode().split(_VALUE_END)
    split = (pair.partition(_NAME_END) for pair in pairs if pair)
    return StoredMessage(
        queue=queue,
        offset=offset,
        properties={name: value for name, _, value in split},
        body=zlib.decompress(body) if flags & _COMPRESSED else body,
    )
