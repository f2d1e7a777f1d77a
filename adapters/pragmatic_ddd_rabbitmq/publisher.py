"""Publishing with confirms from any number of threads, over one connection.

    thread 1 ──encode──┐                              ┌── its answers
    thread 2 ──encode──┼──▶ one channel, in order ──▶ ┤
    thread 3 ──encode──┘                              └── its answers

Whoever waits for answers and finds nobody reading reads for all. There is no loop thread to hand
work to: a batch is encoded, sent and confirmed in the thread that asked.

One channel means that nothing is ever overtaken: RabbitMQ keeps the order of a channel. What was
not confirmed in time stays under way, and its next try waits for that answer. Only a connection
that is lost leaves an outcome unknown, and nothing of ours leaves on it afterwards.
"""

import datetime as dt
import threading
import time
from collections.abc import Sequence
from typing import Final

import attrs

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
from pragmatic_ddd_rabbitmq.shared_link import CLOSED, Connect, SharedLink

Answer = Confirmation | SendError

_MARGIN: Final = dt.timedelta(seconds=1)
_GOODBYE_SECONDS: Final = 1.0


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
    _calls: dict[int, int] = attrs.field(factory=dict, init=False)
    _shared: SharedLink = attrs.field(init=False, repr=False)
    _lone: LonePublishing = attrs.field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        self._shared = SharedLink(
            connect=self.connect,
            prepare=self.prepare,
            connect_timeout=self.connect_timeout,
            heartbeat=self.heartbeat,
        )
        self._lone = LonePublishing(
            connect=self._shared.another, confirm_timeout=self.confirm_timeout
        )

    def start(self) -> None:
        """Begin to work. It connects when there is something to publish."""
        self._shared.start()

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
            link = self._shared.usable(deadline)
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
            if not self._shared.refuse():
                return
            mine = threading.get_ident()
            while any(each != mine for each in self._calls) and time.monotonic() < deadline:
                self._changed.wait(max(0.0, deadline - time.monotonic()))
            link = self._shared.let_go()
            if link is not None:
                if mine in self._calls or link.reader or link.unsettled:
                    link.link.fail(LinkLostError(CLOSED))
                else:
                    link.link.close(time.monotonic() + _GOODBYE_SECONDS)
                link.wake_all()
            self._changed.notify_all()

    @property
    def _changed(self) -> threading.Condition:
        return self._shared.changed

    def _enter(self) -> None:
        with self._changed:
            self._shared.check_open()
            mine = threading.get_ident()
            self._calls[mine] = self._calls.get(mine, 0) + 1

    def _leave(self) -> None:
        with self._changed:
            mine = threading.get_ident()
            self._calls[mine] -= 1
            if not self._calls[mine]:
                del self._calls[mine]
            self._changed.notify_all()

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
                # A former call of this thread reads no more: Ctrl-C came before it could say so.
                if link.reader is None or link.reader.thread == call.thread:
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
            open_ones = [each for each in publications if each.answer is None]
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
