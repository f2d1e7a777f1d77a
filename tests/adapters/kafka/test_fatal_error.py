"""A client that has failed for good says so whenever it is polled, also while it is being ended."""

import threading

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException

from pragmatic_ddd.application.events import Redeliveries
from pragmatic_ddd_kafka.client_properties import consumer_properties, producer_properties
from pragmatic_ddd_kafka.connection_trouble import ConnectionTrouble
from pragmatic_ddd_kafka.group_membership import GroupMembership
from pragmatic_ddd_kafka.offset_commits import OffsetCommits
from pragmatic_ddd_kafka.partition_progress import PartitionProgress
from pragmatic_ddd_kafka.producer_connection import ProducerConnection
from pragmatic_ddd_kafka.settlement import Settlement
from tests.adapters.kafka.shop import a_config, unique, wait_until

NOBODY = "127.0.0.1:1"


def fatal() -> KafkaException:
    return KafkaException(
        KafkaError(KafkaError.CLUSTER_AUTHORIZATION_FAILED, "no id for you", fatal=True)
    )


class FailedClient:
    """Stands for a client that no broker of the tests can be brought to make at the right time."""

    def poll(self, _: float) -> None:
        raise fatal()

    def purge(self) -> None:
        pass


class UnpolledCommits(OffsetCommits):
    """Commits of a client that fails while it is polled for their answer."""

    def finish_in_time(self, client: Consumer) -> None:
        raise fatal()


@pytest.mark.parametrize("is_ended_first", [False, True])
def test_a_producer_s_client_that_fails_for_good_is_replaced_and_ends_quietly(
    caplog: pytest.LogCaptureFixture, *, is_ended_first: bool
) -> None:
    name = unique("fails")
    properties = producer_properties(a_config(bootstrap_servers=NOBODY))
    connection = ProducerConnection(properties, name)

    if is_ended_first:
        connection.end()
    connection._client = FailedClient()  # type: ignore[assignment]
    wait_until(lambda: connection.is_spoiled)
    connection.end()

    # An exception that it ends with fails this test.
    wait_until(lambda: name not in {thread.name for thread in threading.enumerate()})
    told = [record for record in caplog.records if "no id for you" in record.getMessage()]
    assert len(told) == 1
    assert not any(record.exc_info for record in caplog.records)


def test_a_member_whose_client_fails_while_it_leaves_is_closed_all_the_same() -> None:
    name, progress = unique("leaves"), PartitionProgress()
    membership = GroupMembership(
        name=name,
        settlement=Settlement(
            handler=print,
            bury=print,
            redeliveries=Redeliveries(max_attempts=1),
            is_final=lambda _: True,
        ),
        progress=progress,
        commits=UnpolledCommits(name, progress),
        trouble=ConnectionTrouble(name),
    )
    properties = consumer_properties(a_config(bootstrap_servers=NOBODY), unique("group"), member=0)
    client = membership.join(properties, ["events"])

    membership.leave(client)

    with pytest.raises(RuntimeError, match="closed"):
        client.poll(0)
