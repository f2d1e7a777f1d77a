"""Publishing with confirms from any number of threads, over one connection.

    thread 1 ──encode──┐                              ┌── its answers
    thread 2 ──encode──┼──▶ one channel, in order ──▶ ┤
    thread 3 ──encode──┘                              └── its answers

Whoever waits for answers and finds nobody reading reads for all. There is no loop thread to hand
work to: a batch is encoded, sent and confirmed in the thread that asked. A second, mostly idle
thread keeps the connection alive while nobody publishes.

One channel means that nothing is ever overtaken: RabbitMQ keeps the order of a channel. What was
not confirmed in time stays under way, and its next try waits for that answer. Only a connection
that is lost leaves an outcome unknown, and nothing of ours leaves on it afterwards.
"""

import datetime as dt
import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import Final

import attrs

from pragmatic_ddd_rabbitmq.broker_link import BrokerLink
from pragmatic_ddd_rabbitmq.confirms import Call, Confirmation, Publication
from pragmatic_ddd_rabbitmq.errors import (
    LinkLostError,
    NotConfirmedError,
    NotConnectedError,
    SendError,
    link_lost,
    refusal,
)
from pragmatic_ddd_rabbitmq.lone_publishing import LonePublishing
from pragmatic_ddd_rabbitmq.outgoing_message import OutgoingMessage
from pragmatic_ddd_rabbitmq.publishing_link import Prepare, PublishingLink

Answer = Confirmation | SendError
Connect = Callable[[str, float], BrokerLink]

_logger = logging.getLogger(__name__)

_MARGIN: Final = dt.timedelta(seconds=1)
_GOODBYE_SECONDS: Final = 1.0
_NEW: Final = "it has not been started"
_CLOSED: Final = "it has been shut down"


def longest_call(connect_timeout: dt.timedelta, confirm_timeout: dt.timedelta) -> dt.timedelta:
    """Return the upper bound of one ``publish``."""
    return connect_timeout + confirm_timeout + _MARGIN


@attrs.define(eq=False, kw_only=True)
class ConfirmingPublisher:
    """Publishes messages, one try each; safe to call from any number of threads.

    Attributes:
        connect: Opens a connection for a purpose, until a reading of the monotonic clock.
        prepare: Makes sure of an exchange before the first message to it on a connection.
        connect_timeout: How long connecting may take.
        confirm_timeout: How long the broker may take to confirm.
        heartbeat: Longest silence that either side keeps.
    """

    connect: Connect
    prepare: Prepare
    connect_timeout: dt.timedelta
    confirm_timeout: dt.timedelta
    heartbeat: dt.timedelta
    _link: PublishingLink | None = attrs.field(default=None, init=False)
    _obstacle: str | None = attrs.field(default=_NEW, init=False)
    _calls: dict[int, int] = attrs.field(factory=dict, init=False)
    _is_connecting: bool = attrs.field(default=False, init=False)
    _failed_attempts: int = attrs.field(default=0, init=False)
    _last_failure: str = attrs.field(default="", init=False)
    _end: threading.Event = attrs.field(factory=threading.Event, init=False, repr=False)
    # Reentrant: a signal handler may close it while the main thread is just using it.
    _changed: threading.Condition = attrs.field(factory=threading.Condition, init=False, repr=False)
    _lone: LonePublishing = attrs.field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        self._lone = LonePublishing(connect=self._new_link, confirm_timeout=self.confirm_timeout)

    def start(self) -> None:
        """Begin to work. It connects when there is something to publish."""
        with self._changed:
            self._obstacle = None
        threading.Thread(target=self._keep_alive, name="rabbitmq-heartbeat", daemon=True).start()

    def publish(self, messages: Sequence[OutgoingMessage]) -> list[Answer]:
        """Send messages, in order, and wait for what the broker says of each.

        Returns:
            In their order, what became of each.

        Raises:
            NotConnectedError: None of them was sent.
        """
        begun = time.monotonic()
        deadline = begun + (self.connect_timeout + self.confirm_timeout).total_seconds()
        self._enter()
        try:
            link = self._usable_link(deadline)
            call = Call()
            publications = self._put_on_their_way(link, messages, call)
            patience = time.monotonic() + self.confirm_timeout.total_seconds()
            self._await(link, call, min(patience, deadline))
            return self._answers(link, publications, deadline)
        finally:
            self._leave()

    def publish_one(self, message: OutgoingMessage) -> Confirmation:
        """Send one message; return when it is confirmed.

        Raises:
            RefusedMessageError: It can never be taken.
            UndeliverableError: It cannot go where it should.
            NotConnectedError: It was not sent, or may have been.
            NotConfirmedError: It may or may not have been delivered.
        """
        (answer,) = self.publish([message])
        if isinstance(answer, Exception):
            raise answer
        return answer

    def close(self, *, within: dt.timedelta) -> None:
        """Refuse new messages, wait for those under way, disconnect. A second call does nothing.

        Args:
            within: How long to wait for calls in other threads.
        """
        deadline = time.monotonic() + within.total_seconds()
        with self._changed:
            if self._obstacle == _CLOSED:
                return
            self._obstacle = _CLOSED
            self._end.set()
            mine = threading.get_ident()
            while any(each != mine for each in self._calls) and time.monotonic() < deadline:
                self._changed.wait(max(0.0, deadline - time.monotonic()))
            link, self._link = self._link, None
            if link is not None:
                if mine in self._calls or link.reader or link.unsettled:
                    link.link.fail(LinkLostError(_CLOSED))
                else:
                    link.link.close(time.monotonic() + _GOODBYE_SECONDS)
                link.wake_all()
            self._changed.notify_all()

    def _enter(self) -> None:
        with self._changed:
            if self._obstacle is not None:
                raise NotConnectedError(self._obstacle)
            mine = threading.get_ident()
            self._calls[mine] = self._calls.get(mine, 0) + 1

    def _leave(self) -> None:
        with self._changed:
            mine = threading.get_ident()
            self._calls[mine] -= 1
            if not self._calls[mine]:
                del self._calls[mine]
            self._changed.notify_all()

    def _usable_link(self, deadline: float) -> PublishingLink:
        """Return the connection, or make it; one thread connects for all that wait.

        Raises:
            NotConnectedError: It cannot be made, or there is no point in publishing now.
        """
        with self._changed:
            attempts = self._failed_attempts
            while True:
                self._check_open()
                link = self._live_link()
                if link is not None:
                    link.check()
                    return link
                if self._failed_attempts != attempts:
                    raise NotConnectedError(self._last_failure)
                if not self._is_connecting:
                    self._is_connecting = True
                    break
                if not self._changed.wait(max(0.0, deadline - time.monotonic())):
                    raise NotConnectedError("another thread is still connecting")
        return self._connected()

    def _check_open(self) -> None:
        if self._obstacle is not None:
            raise NotConnectedError(self._obstacle)

    def _live_link(self) -> PublishingLink | None:
        """Return the connection unless it is lost, after a look at what has come meanwhile."""
        link = self._link
        if link is not None:
            link.turn()
            if not link.is_usable:
                self._link = link = None
        return link

    def _connected(self) -> PublishingLink:
        """Connect, without the lock, for every thread that waits."""
        made: PublishingLink | None = None
        failure = "connecting was interrupted"
        try:
            patience = time.monotonic() + self.connect_timeout.total_seconds()
            made = self._new_link("publisher", patience)
        except LinkLostError as error:
            failure = str(error)
            raise NotConnectedError(failure) from error
        finally:
            with self._changed:
                self._is_connecting = False
                if made is None:
                    self._failed_attempts += 1
                    self._last_failure = failure
                elif self._obstacle is None:
                    self._link = made
                else:
                    made.link.fail(LinkLostError(self._obstacle))
                self._changed.notify_all()
        _logger.info("%s is connected", made.link.name)
        self._check_open()
        return made

    def _new_link(self, purpose: str, deadline: float) -> PublishingLink:
        made = PublishingLink(link=self.connect(purpose, deadline), prepare=self.prepare)
        made.begin(deadline)
        return made

    def _put_on_their_way(
        self, link: PublishingLink, messages: Sequence[OutgoingMessage], call: Call
    ) -> list[Publication]:
        publications: list[Publication] = []
        with self._changed:
            try:
                for message in messages:
                    publication = link.publish(message)
                    call.take(publication)
                    publications.append(publication)
            except OSError as error:  # lost meanwhile
                link.link.fail(link_lost(error))
            except BaseException:
                link.link.fail(LinkLostError("publishing was interrupted"))
                raise
            finally:
                link.turn()
        unsent = messages[len(publications) :]
        return [*publications, *(Publication(each, each.identity) for each in unsent)]

    def _await(self, link: PublishingLink, call: Call, deadline: float) -> None:
        """Wait for answers, and read for all if nobody does; until the deadline, or the loss."""
        try:
            while self._goes_on(link, call, deadline):
                pass
        finally:
            with self._changed:
                link.wake_next()

    def _goes_on(self, link: PublishingLink, call: Call, deadline: float) -> bool:
        """Wait once, for what comes or for who reads; say whether there is more to wait for."""
        is_reading = False
        try:
            with self._changed:
                left = deadline - time.monotonic()
                if left <= 0 or not link.is_usable or not call.missing:
                    return False
                if link.reader is None:
                    is_reading = True  # first: Ctrl-C may come before the next step
                    link.reader = call
                else:
                    call.changed.clear()
                    link.waiting.add(call)
            if is_reading:
                link.link.transport.wait(min(left, link.link.beat_seconds))
            else:
                call.changed.wait(left)
        finally:
            with self._changed:
                link.waiting.discard(call)
                if is_reading:
                    link.reader = None
                    link.turn()
        return True

    def _answers(
        self, link: PublishingLink, publications: Sequence[Publication], deadline: float
    ) -> list[Answer]:
        with self._changed:
            open_ones = _unanswered(publications)
            if not open_ones:
                return [each.answer for each in publications if each.answer is not None]
            failure = link.link.failure
            if failure is None:
                link.give_up_waiting(open_ones)
                given_up = self._given_up(link)
                return [each.answer or given_up for each in publications]
            is_culprit = link.unsettled == 1
        if not failure.is_a_refusal:
            lost = NotConnectedError(f"{failure}; it may have been delivered")
            return [each.answer or lost for each in publications]
        if is_culprit:
            return [each.answer or refusal(failure) for each in publications]
        answers = iter(self._lone.publish([each.message for each in open_ones], deadline))
        return [each.answer or next(answers) for each in publications]

    def _given_up(self, link: PublishingLink) -> SendError:
        reason = link.link.reason_of_block
        if reason is not None:
            return NotConnectedError(
                f"RabbitMQ takes no messages now: {reason}; this one waits there, and may still be "
                f"delivered"
            )
        return NotConfirmedError(
            f"no confirmation within {self.confirm_timeout.total_seconds():g} s; its next try "
            f"waits for it"
        )

    def _keep_alive(self) -> None:
        """Send and expect heartbeats while nobody publishes, until it is closed."""
        while not self._end.wait(self.heartbeat.total_seconds() / 4):
            try:
                with self._changed:
                    lost = None if self._link is None else self._link.link
                    if self._live_link() is not None:
                        lost = None
            except Exception:
                _logger.exception("the heartbeat of a publisher failed; it goes on")
            else:
                if lost is not None:
                    _logger.warning("%s is lost: %s", lost.name, lost.failure)


def _unanswered(publications: Sequence[Publication]) -> list[Publication]:
    return [each for each in publications if each.answer is None]
