"""The one connection that all threads publish on: the first who needs it makes it for all.

    none ──thread 1 connects, 2 and 3 wait for it──▶ made ──used by all──▶ lost ──▶ none

It is made when there is something to publish, and again once it is lost. A thread of its own,
mostly idle, keeps it alive while nobody publishes.
"""

import datetime as dt
import logging
import threading
import time
from collections.abc import Callable
from typing import Final

import attrs

from pragmatic_ddd_rabbitmq.broker_link import BrokerLink
from pragmatic_ddd_rabbitmq.errors import LinkLostError, NotConnectedError
from pragmatic_ddd_rabbitmq.publishing_link import Prepare, PublishingLink

Connect = Callable[[str, float], BrokerLink]

CLOSED: Final = "it has been shut down"

_logger = logging.getLogger(__name__)

_NEW: Final = "it has not been started"


@attrs.define(eq=False, kw_only=True)
class SharedLink:
    """Makes the connection and looks after it. Safe in many threads.

    Attributes:
        connect: Opens a connection for a purpose, until a reading of the monotonic clock.
        prepare: Makes sure of an exchange before the first message to it on a connection.
        connect_timeout: How long connecting may take.
        heartbeat: Longest silence that either side keeps.
        changed: To be held while the connection is used; notified when anything changes.
            Reentrant: a signal handler may close it while the main thread is just using it.
    """

    connect: Connect
    prepare: Prepare
    connect_timeout: dt.timedelta
    heartbeat: dt.timedelta
    changed: threading.Condition = attrs.field(factory=threading.Condition, init=False, repr=False)
    _link: PublishingLink | None = attrs.field(default=None, init=False)
    _obstacle: str | None = attrs.field(default=_NEW, init=False)
    _connecting_thread: int | None = attrs.field(default=None, init=False)
    _connecting_until: float = attrs.field(default=0.0, init=False)
    _failed_attempts: int = attrs.field(default=0, init=False)
    _last_failure: str = attrs.field(default="", init=False)
    _end: threading.Event = attrs.field(factory=threading.Event, init=False, repr=False)

    def start(self) -> None:
        """Begin to look after it. It is made when somebody asks for it."""
        with self.changed:
            self._obstacle = None
        threading.Thread(target=self._keep_alive, name="rabbitmq-heartbeat", daemon=True).start()

    def check_open(self) -> None:
        """Return while it may be used.

        Raises:
            NotConnectedError: It has not been started, or has been shut down.
        """
        if self._obstacle is not None:
            raise NotConnectedError(self._obstacle)

    def usable(self, deadline: float) -> PublishingLink:
        """Return the connection, or make it; one thread connects for all that wait.

        Args:
            deadline: Reading of the monotonic clock until which to wait for another thread.

        Raises:
            NotConnectedError: It cannot be made, or there is no point in publishing now.
        """
        with self.changed:
            attempts = self._failed_attempts
            while True:
                self.check_open()
                link = self._live_link()
                if link is not None:
                    link.check()
                    return link
                if self._failed_attempts != attempts:
                    raise NotConnectedError(self._last_failure)
                now = time.monotonic()
                # A thread's number stays there where Ctrl-C comes before it connects: it is worth
                # nothing to that thread, nor to the others when it should have been done.
                if (
                    self._connecting_thread in (None, threading.get_ident())
                    or now >= self._connecting_until
                ):
                    self._connecting_thread = threading.get_ident()
                    self._connecting_until = now + 2 * self.connect_timeout.total_seconds()
                    break
                if now >= deadline:
                    raise NotConnectedError("another thread is still connecting")
                self.changed.wait(min(deadline, self._connecting_until) - now)
        return self._connected()

    def another(self, purpose: str, deadline: float) -> PublishingLink:
        """Return a new connection beside this one, for whoever asks alone.

        Args:
            purpose: What for; part of its name.
            deadline: Reading of the monotonic clock until which it has to be made.

        Raises:
            LinkLostError: It cannot be.
        """
        made = PublishingLink(link=self.connect(purpose, deadline), prepare=self.prepare)
        made.begin(deadline)
        return made

    def refuse(self) -> bool:
        """Let nobody use it any more; say whether that is new. ``changed`` is held."""
        if self._obstacle == CLOSED:
            return False
        self._obstacle = CLOSED
        self._end.set()
        return True

    def let_go(self) -> PublishingLink | None:
        """Return the connection, if there is one: the caller ends it. ``changed`` is held."""
        link, self._link = self._link, None
        return link

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
            made = self.another("publisher", patience)
        except LinkLostError as error:
            failure = str(error)
            raise NotConnectedError(failure) from error
        finally:
            with self.changed:
                if self._connecting_thread == threading.get_ident():
                    self._connecting_thread = None
                if made is None:
                    self._failed_attempts += 1
                    self._last_failure = failure
                elif self._obstacle is not None:
                    made.link.fail(LinkLostError(self._obstacle))
                elif self._link is not None and self._link.is_usable:
                    # Made meanwhile, by a signal handler in this thread or by one that took over.
                    made.link.fail(LinkLostError("there is another one"))
                    made = self._link
                else:
                    self._link = made
                self.changed.notify_all()
        _logger.info("%s is connected", made.link.name)
        self.check_open()
        return made

    def _keep_alive(self) -> None:
        """Send and expect heartbeats while nobody publishes, until it is closed."""
        while not self._end.wait(self.heartbeat.total_seconds() / 4):
            try:
                with self.changed:
                    lost = None if self._link is None else self._link.link
                    if self._live_link() is not None:
                        lost = None
            except Exception:
                _logger.exception("the heartbeat of a publisher failed; it goes on")
            else:
                if lost is not None:
                    _logger.warning("%s is lost: %s", lost.name, lost.failure)
