"""Making sure that a group has all it needs, with errors that say what to do."""

from typing import Final

import attrs
from amqp.exceptions import NotFound

from pragmatic_ddd_rabbitmq.broker_link import BrokerLink
from pragmatic_ddd_rabbitmq.errors import (
    ACCESS_REFUSED,
    NOT_FOUND,
    PRECONDITION_FAILED,
    LinkLostError,
)
from pragmatic_ddd_rabbitmq.topology import GroupTopology, TopologyMode

_FIRST_WITH_SAFE_QUORUM_QUEUES: Final = (3, 10)
_HINTS: Final = {
    ACCESS_REFUSED: (
        "give the user this permission, or have somebody else make the topology and set "
        "rabbitmq.topology"
    ),
    NOT_FOUND: "with rabbitmq.topology = declare it would be made",
    PRECONDITION_FAILED: (
        "it is there and is different; delete it, or change the group or the setting"
    ),
}


@attrs.frozen(kw_only=True)
class GroupPreparation:
    """Prepares connections of a group's consumers.

    Attributes:
        topology: What the group needs.
        mode: Whether it is declared, checked or trusted.
    """

    topology: GroupTopology
    mode: TopologyMode

    def prepare(self, link: BrokerLink, deadline: float) -> None:
        """Declare or check.

        Args:
            link: A new connection.
            deadline: Reading of the monotonic clock until which it has to be done.

        Raises:
            LinkLostError: It is not as it should be; says what to do. The connection is lost.
        """
        if self.mode is TopologyMode.TRUST:
            return
        try:
            self._check_version(link)
            with link.asking(deadline) as channel:
                if self.mode is TopologyMode.DECLARE:
                    self.topology.declare(channel)
                else:
                    self.topology.check(channel)
        except LinkLostError as lost:
            raise LinkLostError(f"{lost}{_hint(lost)}", lost.code) from lost

    def refuse_strays(self, link: BrokerLink, deadline: float) -> None:
        """Look for queues of the same group with another number of queues.

        Args:
            link: A connection.
            deadline: Reading of the monotonic clock until which it has to be done.

        Raises:
            LinkLostError: There is one, or the broker does not answer. The connection is lost.
        """
        if self.mode is not TopologyMode.DECLARE:
            return
        for queue in self.topology.strays:
            if _exists(link, queue, deadline):
                reason = (
                    f"queue {queue!r} is there, of group {self.topology.group!r} with another "
                    f"number of queues than {self.topology.queue_count}: events would go there, "
                    f"and nobody would consume them; consume it to its end and delete it, or "
                    f"take another group"
                )
                link.fail(LinkLostError(reason))
                raise LinkLostError(reason)

    def _check_version(self, link: BrokerLink) -> None:
        version = link.server_version
        if self.topology.queue_type == "quorum" and version < _FIRST_WITH_SAFE_QUORUM_QUEUES:
            reason = (
                f"RabbitMQ {'.'.join(map(str, version))} has no quorum queues that keep dead "
                f"letters safe, 3.10 has; without one choose rabbitmq.durability = classic"
            )
            link.fail(LinkLostError(reason))
            raise LinkLostError(reason)


def _exists(link: BrokerLink, queue: str, deadline: float) -> bool:
    """Ask on a channel of its own, because the answer no closes it."""
    with link.asking(deadline):
        channel = link.connection.channel()
        try:
            channel.queue_declare(queue, passive=True)
        except NotFound:
            return False
        channel.close()
    return True


def _hint(lost: LinkLostError) -> str:
    if "x-consistent-hash" in lost.reason:
        return "; enable the plugin rabbitmq_consistent_hash_exchange"
    hint = _HINTS.get(lost.code)
    return f"; {hint}" if hint else ""
