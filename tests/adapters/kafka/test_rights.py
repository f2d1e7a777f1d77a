"""Users who may log in and no more, until somebody gives them their rights."""

from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # exported without a word
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from pragmatic_ddd.errors import BrokerUnavailableError, EventPublishError
from pragmatic_ddd_kafka import KafkaEventManager, KafkaStartError
from tests import servers
from tests.adapters.kafka.shop import (
    OrderPaid,
    a_stored_event,
    an_event_manager,
    as_user,
    wait_until,
)
from tests.adapters.kafka.stage import Stage

pytestmark = [pytest.mark.service("kafka"), pytest.mark.timeout(120)]

USER = "User:restricted"


def restricted(topic: str, **changes: Any) -> KafkaEventManager:  # noqa: ANN401
    user = as_user("restricted", "restricted", at=servers.kafka_sasl_bootstrap())
    return an_event_manager(topic, **user, **changes)


def allow(stage: Stage, kind: Any, name: str, *operations: Any) -> None:  # noqa: ANN401
    """Give the user rights on a topic or a group of this test."""
    admin = AdminClient({"bootstrap.servers": stage.topics.servers})
    rights = [
        AclBinding(
            kind,
            name,
            ResourcePatternType.LITERAL,
            USER,
            "*",
            operation,
            AclPermissionType.ALLOW,
        )
        for operation in operations
    ]
    for created in admin.create_acls(rights).values():
        created.result()


def allow_topic(stage: Stage, topic: str, *operations: Any) -> None:  # noqa: ANN401
    allow(stage, ResourceType.TOPIC, topic, *operations)


@pytest.fixture
def publisher(topic: str) -> Iterator[KafkaEventManager]:
    with restricted(topic) as manager:
        yield manager


def test_who_may_write_elsewhere_is_refused_here_until_he_may(
    stage: Stage, publisher: KafkaEventManager
) -> None:
    """As the docs say: tries count, so that somebody hears of it."""
    allow_topic(stage, f"{stage.group}-delay", AclOperation.WRITE, AclOperation.DESCRIBE)

    def error() -> Exception | None:
        try:
            publisher.publish_stored(a_stored_event())
        except EventPublishError as error:
            return error
        return None

    wait_until(lambda: type(error()) is EventPublishError, error)
    refused = error()
    assert "TOPIC_AUTHORIZATION_FAILED" in str(refused)
    assert stage.topics.read(stage.topic) == []

    allow_topic(stage, stage.topic, AclOperation.WRITE, AclOperation.DESCRIBE)
    wait_until(lambda: error() is None, error)


def test_a_consumer_begins_when_it_gets_its_rights(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    manager = restricted(
        stage.topic,
        consumer_group=stage.group,
        client_settings=("topic.metadata.refresh.interval.ms=1000",),
    )
    manager.register_subscriber("stock", OrderPaid, stage.recorded.by("a"))
    stage.publish(["order-1"], range(3))
    with manager:
        wait_until(lambda: "AUTHORIZATION_FAILED" in caplog.text)
        allow_topic(stage, stage.topic, AclOperation.READ, AclOperation.DESCRIBE)
        wait_until(lambda: "GROUP_AUTHORIZATION_FAILED" in caplog.text)
        allow(stage, ResourceType.GROUP, stage.group, AclOperation.READ)

        stage.recorded.wait_for(3)
        wait_until(lambda: stage.committed() == 3)
    assert stage.recorded.numbers()["order-1"] == [0, 1, 2]


def test_a_dead_letter_waits_for_the_right_to_write_it(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse_the_first(event: OrderPaid) -> None:
        if event.total == 0:
            raise ValueError("never")

    allow_topic(stage, stage.topic, AclOperation.READ, AclOperation.DESCRIBE)
    allow(stage, ResourceType.GROUP, stage.group, AclOperation.READ)
    manager = restricted(stage.topic, consumer_group=stage.group, max_attempts=1)
    manager.register_subscriber("stock", OrderPaid, stage.recorded.by("a", refuse_the_first))
    stage.publish(["order-1"], range(2))
    letters = f"{stage.group}-dead-letter"
    with manager:
        wait_until(lambda: "could not be made a dead letter" in caplog.text)
        assert stage.recorded.calls == []

        allow_topic(stage, letters, AclOperation.WRITE, AclOperation.DESCRIBE)
        stage.recorded.wait_for(1)
    assert len(stage.topics.read(letters)) == 1


def test_a_check_at_start_names_the_topics_that_we_may_not_see(stage: Stage) -> None:
    manager = restricted(stage.topic, consumer_group=stage.group, check_at_start=True)
    manager.register_subscriber("stock", OrderPaid, print)

    with pytest.raises(
        KafkaStartError, match=f"no topic {stage.topic}, .* or none that we may see"
    ):
        manager.start()


def test_a_wrong_password_is_told_and_not_shown(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    user = as_user("test", "hush-hush", at=servers.kafka_sasl_bootstrap())
    manager = an_event_manager(stage.topic, consumer_group=stage.group, **user)
    manager.register_subscriber("stock", OrderPaid, print)

    with manager:
        wait_until(lambda: "Kafka consumer 1" in caplog.text and "_AUTHENTICATION" in caplog.text)
        with pytest.raises(BrokerUnavailableError, match="_AUTHENTICATION") as caught:
            manager.publish_stored(a_stored_event())

    assert "hush" not in caplog.text + str(caught.value) + repr(manager)
