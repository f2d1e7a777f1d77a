"""Finding out which message of several the broker refuses: one after the other, each alone.

    a batch: 1 2 3 4 5 ──▶ channel closed, 406        one of them is to blame, and nobody says which
    alone:   1 ok, 2 ok, 3 channel closed, 406, 4 ok, 5 ok

RabbitMQ refuses by closing the channel. What came before the culprit has been stored, though
perhaps not confirmed, and may come twice; what came after it has been dropped.
"""

import datetime as dt
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

import attrs

from pragmatic_ddd_rabbitmq.confirms import Confirmation
from pragmatic_ddd_rabbitmq.errors import (
    LinkLostError,
    NotConfirmedError,
    NotConnectedError,
    SendError,
    link_lost,
    refusal,
)
from pragmatic_ddd_rabbitmq.outgoing_message import OutgoingMessage
from pragmatic_ddd_rabbitmq.publishing_link import PublishingLink

_GOODBYE_SECONDS: Final = 0.5
_NO_TIME: Final = "no time was left to find out which message of its batch RabbitMQ refuses"


@attrs.define(eq=False, kw_only=True)
class LonePublishing:
    """Publishes messages one by one, on a connection of its own. Safe in many threads.

    Attributes:
        connect: Opens a connection for a purpose, until a reading of the monotonic clock.
        confirm_timeout: How long the broker may take to confirm one.
    """

    connect: Callable[[str, float], PublishingLink]
    confirm_timeout: dt.timedelta
    _link: PublishingLink | None = attrs.field(default=None, init=False)
    _lock: threading.Lock = attrs.field(factory=threading.Lock, init=False, repr=False)

    def publish(
        self, messages: Sequence[OutgoingMessage], deadline: float
    ) -> list[Confirmation | SendError]:
        """Return, for each message, what the broker says to it alone.

        Args:
            messages: What was under way when a connection was closed over one of them.
            deadline: Reading of the monotonic clock at which to end; the rest is not confirmed.
        """
        refused: dict[tuple[str, str], SendError] = {}
        answers: list[Confirmation | SendError] = []
        with self._one_at_a_time(deadline) as is_my_turn:
            for message in messages:
                if not is_my_turn or time.monotonic() >= deadline:
                    answers.append(NotConfirmedError(_NO_TIME))
                elif message.destination in refused:  # whoever goes there is refused
                    answers.append(refused[message.destination])
                else:
                    answers.append(self._answer(message, deadline, refused))
        return answers

    @contextmanager
    def _one_at_a_time(self, deadline: float) -> Iterator[bool]:
        is_my_turn = self._lock.acquire(timeout=max(0.0, deadline - time.monotonic()))
        try:
            yield is_my_turn
        finally:
            if is_my_turn:
                self._disconnect()
                self._lock.release()

    def _answer(
        self,
        message: OutgoingMessage,
        deadline: float,
        refused: dict[tuple[str, str], SendError],
    ) -> Confirmation | SendError:
        try:
            link = self._usable_link(deadline)
            return self._confirmed(link, message, deadline)
        except LinkLostError as failure:
            if not failure.is_a_refusal:
                return NotConnectedError(f"{failure}; it may have been delivered")
            answer = refusal(failure)
            if failure.is_about_destination:
                refused[message.destination] = answer
            return answer

    def _usable_link(self, deadline: float) -> PublishingLink:
        if self._link is None or not self._link.is_usable:
            self._link = None
            self._link = self.connect("refused messages", deadline)
        return self._link

    def _confirmed(
        self, link: PublishingLink, message: OutgoingMessage, deadline: float
    ) -> Confirmation | SendError:
        """Publish one message and wait.

        Raises:
            LinkLostError: The connection was closed over it, or lost.
        """
        patience = min(deadline, time.monotonic() + self.confirm_timeout.total_seconds())
        try:
            publication = link.publish(message)
            link.turn()
            while publication.answer is None:
                link.link.check()
                left = patience - time.monotonic()
                if left <= 0:
                    link.link.fail(LinkLostError("no confirmation in time"))
                    return NotConfirmedError("no confirmation in time")
                link.link.transport.wait(min(left, link.link.beat_seconds))
                link.turn()
        except OSError as error:
            link.link.fail(link_lost(error))
            raise link_lost(error) from error
        return publication.answer

    def _disconnect(self) -> None:
        link, self._link = self._link, None
        if link is not None:
            link.link.close(time.monotonic() + _GOODBYE_SECONDS)
