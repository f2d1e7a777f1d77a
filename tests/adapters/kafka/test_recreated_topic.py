"""A topic that is deleted and made anew while it is written to and read."""

import time

import pytest
from confluent_kafka.admin import AdminClient

from pragmatic_ddd.ports import Receipt
from tests.adapters.kafka.shop import OrderPaid, a_stored_event, an_event_manager, wait_until
from tests.adapters.kafka.stage import Stage

pytestmark = [pytest.mark.service("kafka"), pytest.mark.timeout(120)]

QUICKLY = ("topic.metadata.refresh.interval.ms=500",)


def delete(stage: Stage) -> None:
    admin = AdminClient({"bootstrap.servers": stage.topics.servers})
    for deleted in admin.delete_topics([stage.topic]).values():
        deleted.result()
    wait_until(lambda: not stage.topics.exist(stage.topic))


def test_events_go_on_through_a_topic_that_was_made_anew(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    """Offsets begin anew: whoever had the first event of the former topic gets that of this one."""

    def refuse_the_first(event: OrderPaid) -> None:
        if event.total == 0:
            raise ValueError("never")

    settings = {"consumer_group": stage.group, "max_attempts": 1, "client_settings": QUICKLY}
    events = an_event_manager(stage.topic, **settings)
    events.register_subscriber("stock", OrderPaid, stage.recorded.by("stock"))
    events.register_subscriber("picky", OrderPaid, refuse_the_first)
    stage.events = events
    with events:
        stage.publish(["order-1"], range(5))
        stage.recorded.wait_for(5)
        wait_until(lambda: stage.committed() == 5)

        delete(stage)
        assert isinstance(events.publish_many([a_stored_event()])[0], Exception)
        stage.topics.create(stage.topic)

        def is_sent() -> bool:
            message = a_stored_event(payload=b'{"aggregate_id": "order-1", "total": 10}')
            return isinstance(events.publish_many([message])[0], Receipt)

        wait_until(is_sent)
        stage.publish(["order-1"], range(11, 13))

        wait_until(
            lambda: stage.recorded.numbers()["order-1"][5:] == [10, 11, 12],
            lambda: (stage.recorded.calls, caplog.text),
        )
        begun = time.monotonic()
        wait_until(lambda: stage.committed() == 3, stage.committed)
        assert time.monotonic() - begun < 10
