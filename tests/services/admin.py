"""What tests ask of the running RocketMQ: topics of a type, consumer groups, routes.

Each call takes about 10 ms, where RocketMQ's own command line takes a JVM.
"""

import datetime as dt
import json
from enum import StrEnum

from tests.services import remoting
from tests.services.process import holds
from tests.services.remoting import RemotingError, RequestCode, ResponseCode
from tests.services.rocketmq import broker_port, name_server_port

_ROUTE_LIMIT = dt.timedelta(seconds=10)
_READ_AND_WRITE = 6


class MessageType(StrEnum):
    """What a topic is for. gRPC clients may send it nothing else; remoting clients may."""

    NORMAL = "NORMAL"
    FIFO = "FIFO"
    DELAY = "DELAY"
    TRANSACTION = "TRANSACTION"


def create_topic(
    name: str, queues: int = 8, *, message_type: MessageType = MessageType.NORMAL
) -> None:
    """Create a topic, or change it, and return once clients find it.

    Raises:
        RemotingError: The broker refused.
        OSError: The broker or the name server is not there.
        TimeoutError: The name server does not give out a route.
    """
    remoting.request(
        broker_port(),
        RequestCode.UPDATE_AND_CREATE_TOPIC,
        {
            "topic": name,
            "defaultTopic": "TBW102",
            "readQueueNums": str(queues),
            "writeQueueNums": str(queues),
            "perm": str(_READ_AND_WRITE),
            "topicFilterType": "SINGLE_TAG",
            "topicSysFlag": "0",
            "order": "false",
            "attributes": f"+message.type={message_type}",
        },
    )
    if not holds(lambda: has_route(name), _ROUTE_LIMIT):
        raise TimeoutError(f"topic {name} has no route after {_ROUTE_LIMIT}")


def create_consumer_group(name: str, *, orderly: bool = False, max_retries: int = 16) -> None:
    """Create a consumer group, or change it.

    Args:
        name: What consumers call it.
        orderly: Whether gRPC consumers get the messages of a message group one after another.
        max_retries: Deliveries after the first that the broker tries before its dead letter.

    Raises:
        RemotingError: The broker refused.
        OSError: The broker is not there.
    """
    group = {
        "groupName": name,
        "brokerId": 0,
        "consumeEnable": True,
        "consumeFromMinEnable": True,
        "consumeBroadcastEnable": True,
        "consumeMessageOrderly": orderly,
        "notifyConsumerIdsChangedEnable": True,
        "retryMaxTimes": max_retries,
        "retryQueueNums": 1,
        "whichBrokerWhenConsumeSlowly": 1,
    }
    remoting.request(
        broker_port(),
        RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP,
        body=json.dumps(group).encode(),
    )


def has_route(topic: str) -> bool:
    """Whether the name server sends clients of the topic to our broker."""
    try:
        route = remoting.request(
            name_server_port(), RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": topic}
        )
    except RemotingError as error:
        if error.code == ResponseCode.TOPIC_NOT_EXIST:
            return False
        raise
    return broker_port().address in route.body.decode()
