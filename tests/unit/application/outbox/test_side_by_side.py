"""A publisher that cannot say how many sends it takes at once costs speed, and nothing else."""

import datetime as dt
import logging

import attrs
import pytest

from pragmatic_ddd.application.outbox import BrokerHealth
from pragmatic_ddd.application.outbox.answers import Answers
from pragmatic_ddd.application.outbox.delivery import LaneDelivery
from pragmatic_ddd.application.outbox.retry import Backoff
from pragmatic_ddd.ports import OutboxMessage, PublishPath, Receipt
from pragmatic_ddd_local import CountingMetrics
from tests.unit.application.outbox.builders import a_claim, seconds


@attrs.define
class OddPublisher:
    said: object
    longest_call: dt.timedelta = dt.timedelta(seconds=3)

    @property
    def side_by_side(self) -> int:
        if isinstance(self.said, Exception):
            raise self.said
        return self.said  # type: ignore[return-value]  # wrong on purpose

    def publish_stored(self, message: OutboxMessage) -> Receipt:
        return Receipt(message.message_id)


@pytest.mark.parametrize("said", [None, "4", 0, -1, RuntimeError("not connected yet")])
def test_what_was_claimed_is_sent_all_the_same(
    said: object, caplog: pytest.LogCaptureFixture
) -> None:
    delivery = LaneDelivery(
        publisher=OddPublisher(said),
        answers=Answers(
            health=BrokerHealth(),
            backoff=Backoff(base=seconds(1), cap=seconds(60)),
            max_attempts=10,
            metrics=CountingMetrics(),
            path=PublishPath.EAGER,
        ),
        monotonic=lambda: 100.0,
    )
    claims = [a_claim(number, of=str(number)) for number in (1, 2, 3)]

    outcome = delivery.deliver_all(claims, stopped=lambda: False)

    assert len(outcome.sent) == 3
    errors = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert len(errors) == (0 if isinstance(said, int) else 1)
