import datetime as dt

import pytest

from pragmatic_ddd.application.timestamp import parsed_timestamp

_NOON = dt.datetime(2026, 11, 30, 12, tzinfo=dt.UTC)
_NEW_YEAR = dt.datetime(2017, 1, 1, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    "text",
    [
        "2026-11-30T12:00:00Z",
        "2026-11-30t12:00:00z",
        "2026-11-30T12:00:00-00:00",
        "2026-11-30T13:30:00.000+01:30",
        "2026-11-30T12:00:00." + "0" * 4000 + "Z",
    ],
)
def test_a_timestamp_says_an_instant(text: str) -> None:
    parsed = parsed_timestamp(text)

    assert parsed == _NOON
    assert parsed.utcoffset() is not None


@pytest.mark.parametrize("fraction", [".5", ".500000", ".5000009"])
def test_a_fraction_is_kept_to_the_microsecond(fraction: str) -> None:
    parsed = parsed_timestamp(f"2026-11-30T12:00:00{fraction}Z")

    assert parsed == _NOON.replace(microsecond=500_000)


@pytest.mark.parametrize(
    "text",
    [
        "2016-12-31T23:59:60Z",
        "2016-12-31T23:59:60.000z",
        "2017-01-01T00:59:60+01:00",
        "2016-12-31T15:59:60-08:00",
    ],
)
def test_a_leap_second_is_read_as_the_second_after_it(text: str) -> None:
    assert parsed_timestamp(text) == _NEW_YEAR


@pytest.mark.parametrize(
    "text",
    [
        "2016-12-31T12:00:60Z",
        "2016-12-30T23:59:60Z",
        "2016-12-31T23:59:60-08:00",
        "2016-12-31T23:59:61Z",
        "2016-02-30T23:59:60Z",
    ],
)
def test_a_leap_second_is_the_last_of_a_month_in_utc(text: str) -> None:
    with pytest.raises(ValueError, match="RFC 3339"):
        parsed_timestamp(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "yesterday",
        "2026-11-30",
        "2026-11-30T12:00:00",
        "2026-11-30T12:00Z",
        "2026-W48-1T00:00Z",
        "2026-W48-1T00:00:00Z",
        "20261130T120000Z",
        "2026-11-30X12:00:00Z",
        "2026-11-30 12:00:00Z",
        "2026-11-30T12:00:00+01",
        "2026-11-30T12:00:00+0100",
        "2026-11-30T12:00:00+01:00:30",
        "2026-11-30T12:00:00+24:00",
        "2026-11-30T12:00:00+01:60",
        "2026-11-30T12:00:00,5Z",
        "2026-11-30T12:00:00.Z",
        "2026-11-30T24:00:00Z",
        "2026-13-30T12:00:00Z",
        "2026-02-29T12:00:00Z",
        "2026-11-30T12:00:00Z\n",
        " 2026-11-30T12:00:00Z",
        "٢٠٢٦-11-30T12:00:00Z",
    ],
)
def test_what_is_not_in_the_form_of_rfc_3339_is_no_timestamp(text: str) -> None:
    with pytest.raises(ValueError, match="RFC 3339"):
        parsed_timestamp(text)


@pytest.mark.parametrize("text", ["0000-01-01T00:00:00Z", "9999-12-31T23:59:60Z"])
def test_what_no_datetime_can_hold_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="RFC 3339"):
        parsed_timestamp(text)
