"""One member of a consumer group: it joins, is given partitions and loses them, and leaves.

    join ──▶ assigned ──▶ revoked: what is done is committed, the rest is forgotten
                 │   └──▶ lost: it is another member's already, and forgotten
                 └──▶ leave: what is done is committed, within a bound

The client tells of all that while it is polled, in the thread of its consumer: nothing is in hand
then but what is held back.
"""

import logging
from collections.abc import Collection, Sequence
from contextlib import suppress

import attrs
from confluent_kafka import Consumer, KafkaException, TopicPartition

from pragmatic_ddd_kafka.client_properties import Properties
from pragmatic_ddd_kafka.connection_trouble import ConnectionTrouble
from pragmatic_ddd_kafka.errors import start_error
from pragmatic_ddd_kafka.offset_commits import OffsetCommits
from pragmatic_ddd_kafka.partition_progress import PartitionProgress
from pragmatic_ddd_kafka.record import Place
from pragmatic_ddd_kafka.settlement import Settlement

_logger = logging.getLogger(__name__)


@attrs.define(eq=False, kw_only=True)
class GroupMembership:
    """What the group is to one consumer, which calls this in one thread at a time.

    Attributes:
        name: The consumer's, for the log.
        settlement: Knows the tries of what is held.
        progress: How far its partitions are.
        commits: Commits what is done.
        trouble: What the client says of its connections.
        is_leaving: Whether it has begun to leave: then nothing more is to be settled.
    """

    name: str
    settlement: Settlement
    progress: PartitionProgress
    commits: OffsetCommits
    trouble: ConnectionTrouble
    is_leaving: bool = attrs.field(default=False, init=False)
    _is_closing: bool = attrs.field(default=False, init=False)

    def join(self, properties: Properties, topics: Sequence[str]) -> Consumer:
        """Return a client that begins to join when it is polled.

        Raises:
            ConfigurationError: The client refuses a property.
            KafkaStartError: It cannot be made.
        """
        callbacks = {"error_cb": self.trouble.note, "on_commit": self.commits.answered}
        try:
            client = Consumer(properties | callbacks)
            client.subscribe(
                list(topics),
                on_assign=self._assigned,
                on_revoke=self._revoked,
                on_lost=self._lost,
            )
        except KafkaException as error:
            raise start_error(error, self.name) from error
        return client

    def leave(self, client: Consumer) -> None:
        """Commit what is done, within a bound, and leave the group; once."""
        if self.is_leaving:
            return
        self.is_leaving = True
        try:
            try:
                self.commits.finish_in_time(client)
            finally:  # also where the client has failed for good, which it says while it is polled
                self._is_closing = True
                client.close()
        except Exception:
            _logger.exception("%s could not leave its group", self.name)

    def _assigned(self, _: Consumer, partitions: Sequence[TopicPartition]) -> None:
        if partitions:
            _logger.info("%s has got %s", self.name, _shown(partitions))

    def _revoked(self, client: Consumer, partitions: Sequence[TopicPartition]) -> None:
        """Commit what is done of partitions that go to another member, and drop the rest."""
        places = [(each.topic, each.partition) for each in partitions]
        if not self._is_closing:  # else it has been done, within a bound
            self.commits.finish(client, places)
        self._forget(client, places)

    def _lost(self, client: Consumer, partitions: Sequence[TopicPartition]) -> None:
        """Drop what is known of partitions that are another member's already."""
        if partitions:
            _logger.warning(
                "%s has lost %s: what is not committed comes again", self.name, _shown(partitions)
            )
        self._forget(client, [(each.topic, each.partition) for each in partitions])

    def _forget(self, client: Consumer, places: Collection[Place]) -> None:
        self.commits.forget(places)
        dropped = self.progress.forget(places)
        for record in dropped:
            self.settlement.forget(record)
        with suppress(KafkaException):
            # Paused, a partition that comes back one day would stand still.
            client.resume([TopicPartition(*place) for place in {each.place for each in dropped}])


def _shown(partitions: Sequence[TopicPartition]) -> str:
    return ", ".join(f"{each.topic}/{each.partition}" for each in partitions)
