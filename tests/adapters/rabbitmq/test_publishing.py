"""Publishing to a real broker: confirmed, returned, refused, in the middle of a batch."""

import datetime as dt
import functools
import select
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import attrs
import pytest

from pragmatic_ddd.errors import (
    BrokerUnavailableError,
    EventPublishError,
    EventRejectedError,
)
from pragmatic_ddd.ports import OutboxMessage, Receipt
from pragmatic_ddd_rabbitmq import RabbitMqEventManager, TopologyMode, publishing_link
from pragmatic_ddd_rabbitmq.confirms import Call
from pragmatic_ddd_rabbitmq.frame_transport import FrameTransport
from pragmatic_ddd_rabbitmq.publishing_link import PublishingLink
from pragmatic_ddd_rabbitmq.shared_link import SharedLink
from tests import servers
from tests.adapters.rabbitmq.shop import (
    a_stored_event,
    an_event_manager,
    an_order_paid,
    stored,
    unique,
)
from tests.adapters.rabbitmq.space import Space
from tests.adapters.rabbitmq.waiting import wait_until
from tests.tcp_gate import TcpGate

pytestmark = pytest.mark.service("rabbitmq")


def many(count: int) -> list[OutboxMessage]:
    return [a_stored_event(aggregate_id=f"order-{number}") for number in range(count)]


def kinds(answers: Sequence[Receipt | Exception]) -> list[type]:
    return [type(answer) for answer in answers]


def ids_in(space: Space, queue: str) -> list[str]:
    return [found.properties["message_id"] for found in space.client.messages(queue)]


def is_published(events: RabbitMqEventManager, message: OutboxMessage) -> bool:
    return kinds(events.publish_many([message])) == [Receipt]


def link_of(events: RabbitMqEventManager) -> PublishingLink:
    assert events._publisher is not None
    link = events._publisher._shared._link
    assert link is not None
    return link


def transport_of(events: RabbitMqEventManager) -> FrameTransport:
    return link_of(events).link.transport


@pytest.fixture
def gate() -> Iterator[TcpGate]:
    server = urlsplit(servers.rabbitmq_url())
    with TcpGate((server.hostname or "", server.port or 0)) as gate:
        yield gate


def through(gate: TcpGate) -> str:
    return f"amqp://guest:guest@127.0.0.1:{gate.port}/"


def test_a_message_is_persistent_and_says_what_it_is(
    events: RabbitMqEventManager, space: Space
) -> None:
    message = stored(an_order_paid(5))

    receipt = events.publish_stored(message)

    (found,) = space.client.messages(space.everything)
    assert found.body == message.payload
    assert found.routing_key == "shop.order.paid"
    assert found.properties["delivery_mode"] == 2
    assert found.properties["content_type"] == "application/json"
    assert found.properties["message_id"] == message.message_id
    assert found.properties["type"] == "shop.order.paid"
    assert abs(found.properties["timestamp"] - time.time()) < 60
    assert found.headers["cloudEvents_id"] == message.message_id
    assert receipt.text.startswith("delivery tag 1 on pragmatic-ddd ")
    assert f"to exchange {space.exchange} with routing key shop.order.paid" in receipt.text


def test_a_body_of_many_frames_arrives_whole(events: RabbitMqEventManager, space: Space) -> None:
    payload = b'{"note": "' + bytes(range(48, 58)) * 100_000 + b'"}'

    events.publish_stored(a_stored_event(payload=payload))

    (found,) = space.client.messages(space.everything)
    assert found.body == payload


def test_what_no_queue_is_bound_for_is_not_confirmed(space: Space) -> None:
    message = a_stored_event()
    with an_event_manager(space.exchange) as events:
        with pytest.raises(EventPublishError, match=r"NO_ROUTE.*no queue is bound") as caught:
            events.publish_stored(message)
        assert type(caught.value) is EventPublishError
        assert caught.value.retryable

        space.keep_everything()
        assert events.publish_stored(message).text


def test_in_a_batch_those_without_a_queue_fail_and_the_others_do_not(space: Space) -> None:
    space.client.exchange(space.exchange)
    queue = space.queue(f"{space.exchange}-paid", "shop.order.paid")
    messages = many(40)
    for number in range(0, 40, 3):
        messages[number] = attrs.evolve(messages[number], event_type="shop.order.lost")

    with an_event_manager(space.exchange) as events:
        answers = events.publish_many(messages)

    for number, answer in enumerate(answers):
        assert type(answer) is (EventPublishError if number % 3 == 0 else Receipt)
    assert ids_in(space, queue) == [
        message.message_id for number, message in enumerate(messages) if number % 3
    ]


def test_a_batch_is_sent_in_order_and_each_is_confirmed(
    events: RabbitMqEventManager, space: Space
) -> None:
    messages = many(500)

    answers = events.publish_many(messages)

    assert kinds(answers) == [Receipt] * 500
    assert len(set(answers)) == 500
    assert ids_in(space, space.everything) == [message.message_id for message in messages]


@pytest.mark.parametrize("topology", list(TopologyMode))
def test_an_unknown_exchange_is_declared_or_fails(topology: TopologyMode, space: Space) -> None:
    with (
        an_event_manager(space.exchange, topology=topology) as events,
        pytest.raises(EventPublishError) as caught,
    ):
        events.publish_stored(a_stored_event())

    assert type(caught.value) is EventPublishError
    expected = "no queue is bound" if topology is TopologyMode.DECLARE else "no exchange"
    assert expected in str(caught.value)


def test_an_exchange_that_is_missing_in_the_midst_of_a_batch_fails_its_own_events_alone(
    space: Space,
) -> None:
    space.keep_everything()
    missing = unique("missing")
    messages = many(60)
    for number in (5, 6, 30):
        messages[number] = attrs.evolve(messages[number], event_type="shop.order.placed")
    events = an_event_manager(space.exchange, topology=TopologyMode.TRUST)
    events.topics = _TwoExchanges({"shop.order.placed": missing}, space.exchange)

    with events:
        answers = events.publish_many(messages)

        for number, answer in enumerate(answers):
            if number in (5, 6, 30):
                assert type(answer) is EventPublishError
                assert "no exchange" in str(answer)
            else:
                assert isinstance(answer, Receipt)
        assert events.publish_stored(a_stored_event()).text
    found = ids_in(space, space.everything)
    assert len(found) >= 58  # those before the first culprit may be there twice
    expected = {message.message_id for number, message in enumerate(messages)} - {
        messages[number].message_id for number in (5, 6, 30)
    }
    assert set(found) >= expected


def test_an_exchange_of_another_kind_is_no_fault_of_the_events(space: Space) -> None:
    space.keep_everything()
    other = space.also_exchange(unique("fanout"))
    space.client.exchange(other, "fanout")
    messages = many(20)
    for number in (3, 4):
        messages[number] = attrs.evolve(messages[number], event_type="shop.order.placed")
    events = an_event_manager(space.exchange)
    events.topics = _TwoExchanges({"shop.order.placed": other}, space.exchange)

    with events:
        answers = events.publish_many(messages)
        with pytest.raises(EventPublishError, match="inequivalent") as caught:
            events.publish_stored(messages[3])

    assert type(caught.value) is EventPublishError
    expected = [EventPublishError if number in (3, 4) else Receipt for number in range(20)]
    assert kinds(answers) == expected


@attrs.frozen
class _TwoExchanges:
    special: dict[str, str]
    default: str

    def resolve(self, event_type: str, *, subscriber: str | None = None) -> str:
        return self.special.get(event_type, self.default)


def test_too_large_for_the_settings_is_refused_before_it_is_sent(space: Space) -> None:
    space.keep_everything()
    messages = many(5)
    messages[2] = attrs.evolve(messages[2], payload=b'{"note": "' + b"x" * 1000 + b'"}')

    with an_event_manager(space.exchange, largest_body_bytes=500) as events:
        answers = events.publish_many(messages)

    assert kinds(answers) == [Receipt, Receipt, EventRejectedError, Receipt, Receipt]
    assert "at most 500" in str(answers[2])


def test_headers_that_fit_into_no_frame_are_refused_before_they_are_sent(
    events: RabbitMqEventManager,
) -> None:
    messages = many(3)
    messages[1] = attrs.evolve(messages[1], headers={"note": "x" * 200_000})

    answers = events.publish_many(messages)

    assert kinds(answers) == [Receipt, EventRejectedError, Receipt]
    assert "fit into a frame" in str(answers[1])


def test_a_setting_that_is_no_exchange_fails_its_own_events_alone(space: Space) -> None:
    space.keep_everything()
    messages = many(3)
    messages[0] = attrs.evolve(messages[0], event_type="shop.order.placed")
    events = an_event_manager(space.exchange)
    events.topics = _TwoExchanges({"shop.order.placed": "amq.topic"}, space.exchange)

    with events:
        answers = events.publish_many(messages)

    assert kinds(answers) == [EventPublishError, Receipt, Receipt]


def test_who_may_not_write_is_told_and_may_try_again(space: Space) -> None:
    space.keep_everything()
    url = servers.rabbitmq_url().replace("guest:guest", "restricted:restricted")
    for topology in (TopologyMode.DECLARE, TopologyMode.TRUST):
        with an_event_manager(space.exchange, url=url, topology=topology) as events:
            answers = events.publish_many(many(30))

            assert set(kinds(answers)) == {EventPublishError}
            assert "ACCESS_REFUSED" in str(answers[0])
            assert space.exchange in str(answers[0])
            with pytest.raises(EventPublishError, match="ACCESS_REFUSED") as caught:
                events.publish_stored(a_stored_event())
            assert type(caught.value) is EventPublishError
            assert caught.value.retryable


@pytest.mark.parametrize(
    ("login", "said"), [("guest:wrong", "ACCESS_REFUSED"), ("nobody:x", "ACCESS_REFUSED")]
)
def test_who_may_not_log_in_is_told_and_no_event_is_to_blame(
    login: str, said: str, space: Space
) -> None:
    url = servers.rabbitmq_url().replace("guest:guest", login)
    with (
        an_event_manager(space.exchange, url=url) as events,
        pytest.raises(BrokerUnavailableError, match=said) as caught,
    ):
        events.publish_stored(a_stored_event())
    assert login.split(":")[1] not in str(caught.value).replace("ACCESS", "")


def test_a_virtual_host_that_is_not_there_is_told(space: Space) -> None:
    with (
        an_event_manager(space.exchange, url=f"{servers.rabbitmq_url()}nowhere") as events,
        pytest.raises(BrokerUnavailableError, match="nowhere"),
    ):
        events.publish_stored(a_stored_event())


def test_a_full_queue_says_no_for_the_events_that_do_not_fit(space: Space) -> None:
    space.client.exchange(space.exchange)
    space.queue(f"{space.exchange}-full", "#", max_length=2, overflow="reject-publish")

    with an_event_manager(space.exchange) as events:
        answers = [*events.publish_many(many(2)), *events.publish_many(many(2))]

    assert kinds(answers)[:2] == [Receipt, Receipt]
    assert "basic.nack" in str(answers[3])


def test_many_threads_share_one_connection(space: Space) -> None:
    space.keep_everything()
    with an_event_manager(space.exchange) as events:

        def publish(of: int) -> list[Receipt]:
            return [
                events.publish_stored(a_stored_event(aggregate_id=f"order-{of}")) for _ in range(60)
            ]

        with ThreadPoolExecutor(8) as threads:
            receipts = [each for found in threads.map(publish, range(8)) for each in found]

    assert len(set(receipts)) == 480
    assert len({receipt.text.split(" on ")[1] for receipt in receipts}) == 1
    assert space.client.ready(space.everything) == 480


def test_a_channel_closed_over_one_thread_s_event_costs_no_other_thread_its_events(
    space: Space,
) -> None:
    space.keep_everything()
    events = an_event_manager(space.exchange, topology=TopologyMode.TRUST)
    events.topics = _TwoExchanges({"shop.order.placed": unique("missing")}, space.exchange)
    stop = threading.Event()

    def trouble() -> int:
        count = 0
        while not stop.is_set():
            with pytest.raises(EventPublishError, match="no exchange"):
                events.publish_stored(a_stored_event(event_type="shop.order.placed"))
            count += 1
        return count

    def publish(of: int) -> list[Receipt | Exception]:
        return [
            answer
            for _ in range(15)
            for answer in events.publish_many(
                [a_stored_event(aggregate_id=f"order-{of}-{number}") for number in range(10)]
            )
        ]

    with events, ThreadPoolExecutor(4) as threads:
        troubled = threads.submit(trouble)
        answers = [each for found in threads.map(publish, range(3)) for each in found]
        stop.set()
        assert troubled.result(10) > 0
    assert kinds(answers) == [Receipt] * 450


def test_a_lost_connection_is_noticed_before_the_next_event_is_sent(
    space: Space, gate: TcpGate
) -> None:
    """After idling the first send succeeds."""
    space.keep_everything()
    with an_event_manager(space.exchange, url=through(gate)) as events:
        first = events.publish_stored(a_stored_event())
        transport = transport_of(events)
        gate.cut()
        assert transport._socket is not None
        assert select.select([transport._socket], [], [], 10)[0]  # its end has come here
        second = events.publish_stored(a_stored_event())

    assert first.text.split(" on ")[1] != second.text.split(" on ")[1]
    assert space.client.ready(space.everything) == 2


def test_heartbeats_keep_an_idle_connection(space: Space) -> None:
    space.keep_everything()
    with an_event_manager(space.exchange, heartbeat=dt.timedelta(seconds=1)) as events:
        first = events.publish_stored(a_stored_event())
        transport = transport_of(events)
        begun = time.monotonic()
        wait_until(lambda: transport.last_received > begun + 3)  # two heartbeats are not enough
        second = events.publish_stored(a_stored_event())

    assert first.text.split(" on ")[1].split(",")[0] == second.text.split(" on ")[1].split(",")[0]


def test_a_silent_broker_is_given_up_after_two_heartbeats(space: Space, gate: TcpGate) -> None:
    space.keep_everything()
    with an_event_manager(
        space.exchange,
        url=through(gate),
        heartbeat=dt.timedelta(seconds=1),
        confirm_timeout=dt.timedelta(milliseconds=300),
        connect_timeout=dt.timedelta(milliseconds=500),
    ) as events:
        events.publish_stored(a_stored_event())
        with gate.silent():
            reasons: list[str] = []

            def is_given_up() -> bool:
                with pytest.raises(EventPublishError) as caught:
                    events.publish_stored(a_stored_event())
                assert caught.value.retryable
                reasons.append(str(caught.value))
                return "does not answer" in reasons[-1]

            wait_until(is_given_up, lambda: reasons)
    assert "no confirmation within 0.3 s" in reasons[0]
    assert "has been silent" in reasons[1]


def test_a_try_that_was_not_confirmed_in_time_is_not_sent_twice(
    space: Space, gate: TcpGate
) -> None:
    """The next try waits for the first one's answer, or takes it, if it has come meanwhile."""
    space.keep_everything()
    messages = many(20)
    with an_event_manager(
        space.exchange, url=through(gate), confirm_timeout=dt.timedelta(milliseconds=300)
    ) as events:
        events.publish_stored(a_stored_event())
        with gate.silent():
            answers = events.publish_many(messages)
            assert not any(isinstance(answer, Receipt) for answer in answers)
        wait_until(lambda: set(kinds(events.publish_many(messages))) == {Receipt})

    found = ids_in(space, space.everything)[1:]
    assert found == [message.message_id for message in messages]


def test_nothing_is_overtaken_by_the_retry_of_what_was_not_confirmed(
    space: Space, gate: TcpGate
) -> None:
    space.keep_everything()
    first, second = a_stored_event(), a_stored_event()
    with an_event_manager(
        space.exchange, url=through(gate), confirm_timeout=dt.timedelta(milliseconds=300)
    ) as events:
        events.publish_stored(a_stored_event())
        for _ in range(5):
            with gate.silent(), pytest.raises(EventPublishError):
                events.publish_stored(first)
        for message in (first, second):
            wait_until(functools.partial(is_published, events, message))

    assert ids_in(space, space.everything)[1:] == [first.message_id, second.message_id]


def test_an_answer_that_never_comes_is_not_waited_for_for_ever(
    space: Space, gate: TcpGate, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a new connection it is sent again, and nothing overtakes it."""
    monkeypatch.setattr(publishing_link, "_LOST_AFTER_SECONDS", 1.0)
    space.keep_everything()
    first, second = a_stored_event(), a_stored_event()
    with an_event_manager(
        space.exchange,
        url=through(gate),
        connect_timeout=dt.timedelta(milliseconds=500),
        confirm_timeout=dt.timedelta(milliseconds=300),
    ) as events:
        events.publish_stored(a_stored_event())
        with gate.silent():
            wait_until(
                lambda: "does not answer" in str(events.publish_many([first])[0]),  # a new one
                within=10,
            )
        for message in (first, second):
            wait_until(functools.partial(is_published, events, message))

    found = ids_in(space, space.everything)[1:]
    assert list(dict.fromkeys(found)) == [first.message_id, second.message_id]


def test_an_answer_that_is_lost_costs_a_copy_and_no_order(space: Space, gate: TcpGate) -> None:
    space.keep_everything()
    first, second = a_stored_event(), a_stored_event()
    with an_event_manager(space.exchange, url=through(gate)) as events:
        events.publish_stored(a_stored_event())
        with gate.answering(at_most_bytes=0), pytest.raises(BrokerUnavailableError) as caught:
            events.publish_stored(first)
        for message in (first, second):
            events.publish_stored(message)

    assert "may have been delivered" in str(caught.value)
    expected = [message.message_id for message in (first, first, second)]
    assert ids_in(space, space.everything)[1:] == expected


def test_an_exchange_that_is_deleted_is_made_again_and_its_events_wait_for_a_queue(
    space: Space,
) -> None:
    queue = space.keep_everything()
    message = a_stored_event()
    with an_event_manager(space.exchange) as events:
        events.publish_stored(a_stored_event())
        space.client.delete([], [space.exchange])

        for said in ("no exchange", "no queue is bound"):
            with pytest.raises(EventPublishError, match=said) as caught:
                events.publish_stored(message)
            assert type(caught.value) is EventPublishError
        space.client.bind(queue, space.exchange, "#")
        events.publish_stored(message)

    assert ids_in(space, queue)[1:] == [message.message_id]


def test_ctrl_c_before_it_connects_keeps_nobody_from_connecting(
    space: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(_: SharedLink) -> None:
        raise KeyboardInterrupt

    space.keep_everything()
    with an_event_manager(space.exchange) as events:
        with monkeypatch.context() as patched:
            patched.setattr(SharedLink, "_connected", interrupted)
            with pytest.raises(KeyboardInterrupt):
                events.publish_stored(a_stored_event())

        assert events.publish_stored(a_stored_event()).text


def test_ctrl_c_before_a_reader_says_that_it_has_read_keeps_nobody_from_reading(
    space: Space,
) -> None:
    space.keep_everything()
    with an_event_manager(space.exchange) as events:
        events.publish_stored(a_stored_event())
        link_of(events).reader = Call()

        assert events.publish_stored(a_stored_event()).text


def test_the_first_address_that_answers_is_taken(space: Space) -> None:
    space.keep_everything()
    url = f"amqp://guest:guest@127.0.0.1:1/,{servers.rabbitmq_url()}"
    with an_event_manager(space.exchange, url=url) as events:
        assert events.publish_stored(a_stored_event()).text


def test_without_a_broker_publishing_says_where_it_is_not(space: Space) -> None:
    with (
        an_event_manager(space.exchange, url="amqp://u:topsecret@127.0.0.1:1/") as events,
        pytest.raises(BrokerUnavailableError, match=r"amqp://127\.0\.0\.1:1") as caught,
    ):
        events.publish_stored(a_stored_event())
    assert "topsecret" not in str(caught.value)


def test_a_shutdown_waits_for_what_is_under_way(space: Space) -> None:
    space.keep_everything()
    events = an_event_manager(space.exchange)
    events.start()
    answers: list[Receipt | Exception] = []

    def publish() -> None:
        for _ in range(200):
            found = events.publish_many(many(50))
            answers.extend(found)
            if not all(isinstance(answer, Receipt) for answer in found):
                return

    thread = threading.Thread(target=publish)
    thread.start()
    wait_until(lambda: bool(answers))
    events.shutdown()
    thread.join(20)

    confirmed = sum(isinstance(answer, Receipt) for answer in answers)
    assert space.client.ready(space.everything) == confirmed
    refused = [answer for answer in answers if not isinstance(answer, Receipt)]
    assert {type(answer) for answer in refused} <= {BrokerUnavailableError}
    assert all("shut down" in str(answer) for answer in refused)
