"""One topic, written through both channels: each aggregate keeps its queue, and so its order.

The two clients do not live in one environment, so the remoting one has a process of its own.
"""

import json
import subprocess
import textwrap
from collections import defaultdict
from collections.abc import Mapping, Sequence

import pytest

from pragmatic_ddd.testing.subscriber_calls import SubscriberCalls
from pragmatic_ddd_rocketmq_grpc import RocketMqGrpcEventManager
from tests import servers
from tests.adapters.rocketmq_grpc.shop import (
    OrderPaid,
    a_group,
    a_stored_event,
    a_topic,
    an_event_manager,
)
from tests.script import ROOT, child_environment
from tests.services.rocketmq_messages import stored_messages

pytestmark = pytest.mark.service("rocketmq", "rocketmq-grpc", "remoting-python")

_QUEUES = 8
_AGGREGATES = [
    *(f"order-{number}" for number in range(40)),
    *(f"Kunde Ö 订单 {number}" for number in range(10)),
    *("x" * 62 + str(number) for number in range(4)),  # 63 bytes: the longest group
    *("x" * 63 + str(number) for number in range(10)),  # 64 bytes
    *(f"tenant-{number}/" + "y" * 150 for number in range(10)),
    *(f"{'ü' * 40}{number}" for number in range(10)),
]


def test_an_aggregate_goes_to_the_same_queue_through_both_channels() -> None:
    topic = a_topic(_QUEUES)
    _publish_through_remoting(topic, "remoting", range(1))
    with an_event_manager(topic) as events:
        _publish(events, "grpc", range(1))

    queues = defaultdict(set)
    channels = defaultdict(list)
    for message in stored_messages(topic):
        queues[message.properties["ce_subject"]].add(message.queue)
        channels[message.properties["ce_subject"]].append(message.properties["ce_id"][:4])
    assert set(queues) == set(_AGGREGATES)
    assert {aggregate: len(found) for aggregate, found in queues.items() if len(found) > 1} == {}
    assert all(sorted(found) == ["grpc", "remo"] for found in channels.values())
    assert len({queue for found in queues.values() for queue in found}) == _QUEUES


def test_a_service_that_moves_to_the_other_channel_and_back_keeps_the_order() -> None:
    topic, calls = a_topic(_QUEUES), SubscriberCalls()
    consumer = an_event_manager(topic, consumer_group=a_group())
    consumer.register_subscriber("note", OrderPaid, lambda event: calls.add("note", event))
    with consumer:
        _publish_through_remoting(topic, "a", range(3))
        _publish(consumer, "b", range(3, 6))
        _publish_through_remoting(topic, "c", range(6, 9))
        found = calls.wait_for(9 * len(_AGGREGATES), 60)

    totals = defaultdict(list)
    for _, event in found:
        assert isinstance(event, OrderPaid)
        totals[event.aggregate_id].append(event.total)
    assert all(totals[aggregate] == list(range(9)) for aggregate in _AGGREGATES)


def test_a_message_is_the_same_through_both_channels() -> None:
    topic = a_topic(1)
    _publish_through_remoting(topic, "event", range(1))
    with an_event_manager(topic) as events:
        _publish(events, "event", range(1))

    found = defaultdict(list)
    for message in stored_messages(topic):
        found[message.properties["ce_subject"]].append(message)
    for remoting, grpc in found.values():
        assert remoting.body == grpc.body
        for name in ("TAGS", "KEYS"):
            assert remoting.properties[name] == grpc.properties[name]
        assert _events_own(remoting.properties) == _events_own(grpc.properties)


def _events_own(properties: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in properties.items() if name.startswith("ce_")}


def _message_id(prefix: str, number: int, aggregate: str) -> str:
    return f"{prefix}-{number}-{_AGGREGATES.index(aggregate)}"


def _publish(events: RocketMqGrpcEventManager, prefix: str, numbers: Sequence[int]) -> None:
    for number in numbers:
        for aggregate in _AGGREGATES:
            payload = json.dumps({"aggregate_id": aggregate, "total": number}).encode()
            events.publish_stored(
                a_stored_event(
                    message_id=_message_id(prefix, number, aggregate),
                    aggregate_id=aggregate,
                    payload=payload,
                )
            )


def _publish_through_remoting(topic: str, prefix: str, numbers: Sequence[int]) -> None:
    """Publish the same events in the environment that has the remoting client."""
    script = f"""
        import json
        from tests.adapters.rocketmq.shop import a_stored_event, an_event_manager, warm_up
        with an_event_manager({topic!r}) as events:
            warm_up(events)
            for number in {list(numbers)!r}:
                for index, aggregate in enumerate({_AGGREGATES!r}):
                    events.publish_stored(a_stored_event(
                        message_id=f"{prefix}-{{number}}-{{index}}",
                        aggregate_id=aggregate,
                        event_type={OrderPaid.event_type!r},
                        payload=json.dumps({{"aggregate_id": aggregate, "total": number}}).encode(),
                    ))
    """
    done = subprocess.run(
        [servers.remoting_python(), "-c", textwrap.dedent(script)],
        cwd=ROOT,
        env=child_environment(),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
