"""How far the partitions of a consumer are."""

from pragmatic_ddd_kafka.partition_progress import PartitionProgress
from pragmatic_ddd_kafka.record import Position, ReceivedRecord

PLACE = ("events", 0)
OTHER = ("events", 1)


def a_record(offset: int, partition: int = 0) -> ReceivedRecord:
    return ReceivedRecord(topic="events", partition=partition, offset=offset, leader_epoch=2)


def positions(offsets: dict[tuple[str, int], int]) -> dict[tuple[str, int], Position]:
    return {place: Position(offset, 2) for place, offset in offsets.items()}


def test_what_is_done_is_committed_as_the_next_offset() -> None:
    progress = PartitionProgress()
    progress.done(a_record(4))
    progress.done(a_record(5))
    progress.done(a_record(9, partition=1))

    assert progress.has_done
    assert progress.take_done([PLACE, ("else", 0)]) == positions({PLACE: 6})
    assert progress.take_done() == positions({OTHER: 10})
    assert not progress.has_done


def test_what_was_refused_comes_back_unless_more_has_been_done() -> None:
    progress = PartitionProgress()
    progress.done(a_record(5))

    progress.give_back(positions({PLACE: 3, OTHER: 10}))

    assert progress.take_done() == positions({PLACE: 6, OTHER: 10})


def test_a_partition_is_held_until_its_pause_is_over() -> None:
    progress = PartitionProgress()
    assert progress.next_due() is None

    progress.hold(a_record(4), until=10.0)
    progress.hold(a_record(7, partition=1), until=5.0)

    assert progress.next_due() == 5.0
    assert progress.due(4.9) is None
    assert progress.due(11.0) == a_record(7, partition=1)

    progress.hold(a_record(7, partition=1), until=20.0)
    assert progress.due(11.0) == a_record(4)
    assert progress.due(9.9) is None


def test_what_comes_behind_a_held_record_waits_in_its_order() -> None:
    progress = PartitionProgress()
    assert not progress.queue_up(a_record(3))
    progress.hold(a_record(4), until=10.0)

    assert progress.queue_up(a_record(5))
    assert progress.queue_up(a_record(6))

    for offset in (4, 5, 6):
        assert progress.due(11.0) == a_record(offset)
        assert progress.pass_on(a_record(offset), now=11.0) is (offset < 6)
    assert progress.due(11.0) is None
    assert not progress.queue_up(a_record(7))
    assert progress.take_done() == positions({PLACE: 7})


def test_partitions_that_are_due_take_turns() -> None:
    """However many records come behind the one that was held, the others are not kept waiting."""
    progress = PartitionProgress()
    progress.hold(a_record(4), until=10.0)
    progress.queue_up(a_record(5))
    progress.put_off(a_record(7, partition=1), now=11.0)

    assert progress.due(12.0) == a_record(4)
    progress.pass_on(a_record(4), now=12.0)
    assert progress.due(12.0) == a_record(7, partition=1)
    progress.pass_on(a_record(7, partition=1), now=13.0)
    assert progress.due(13.0) == a_record(5)


def test_only_what_was_held_for_a_pause_has_waited() -> None:
    progress = PartitionProgress()
    progress.put_off(a_record(4), now=10.0)
    assert not progress.has_waited(a_record(4))

    progress.hold(a_record(4), until=12.0)
    assert progress.has_waited(a_record(4))

    progress.queue_up(a_record(5))
    progress.pass_on(a_record(4), now=12.0)
    assert not progress.has_waited(a_record(5))


def test_what_is_another_consumer_s_is_forgotten() -> None:
    progress = PartitionProgress()
    progress.done(a_record(3))
    progress.hold(a_record(4), until=10.0)
    progress.queue_up(a_record(5))
    progress.done(a_record(8, partition=1))

    dropped = progress.forget([PLACE, ("else", 0)])

    assert [record.offset for record in dropped] == [4, 5]
    assert progress.next_due() is None
    assert progress.take_done() == positions({OTHER: 9})
