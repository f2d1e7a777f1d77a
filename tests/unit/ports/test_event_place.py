import pytest

from pragmatic_ddd.ports.event_place import BEFORE_ALL, EventPlace


def test_places_are_ordered_by_epoch_then_version_then_index() -> None:
    places = [
        BEFORE_ALL,
        EventPlace(version=1),
        EventPlace(version=1, index=1),
        EventPlace(version=2),
        EventPlace(version=10),
        EventPlace(epoch=1, version=1),
    ]

    backwards = places[::-1]
    assert sorted(backwards) == places


@pytest.mark.parametrize("text", ["0.0", "1.0", "12.3", "9223372036854775807.2147483647"])
def test_a_place_is_read_as_it_was_written(text: str) -> None:
    assert str(EventPlace.parse(text)) == text


def test_a_place_is_read_within_an_epoch() -> None:
    assert EventPlace.parse("5.1", epoch=2) == EventPlace(epoch=2, version=5, index=1)


@pytest.mark.parametrize(
    "text", ["", "5", "5.", ".0", "-1.0", "5.0 ", "05.0", "5.0.0", "\u0665.0", "a"]
)
def test_what_is_no_place_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="a version and an index"):
        EventPlace.parse(text)


def test_a_place_below_zero_is_refused() -> None:
    with pytest.raises(ValueError, match="version"):
        EventPlace(version=-1)
