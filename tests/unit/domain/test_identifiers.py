import datetime as dt
import os
import uuid

import pytest

from pragmatic_ddd.domain.identifiers import uuid7, uuid7_text


def test_an_id_is_a_uuid_of_version_7() -> None:
    made = uuid7()

    assert (made.version, made.variant) == (7, uuid.RFC_4122)
    assert uuid.UUID(uuid7_text()).version == 7
    assert len(uuid7_text()) == 36


def test_ids_carry_the_time_at_which_they_were_made() -> None:
    before = dt.datetime.now(dt.UTC)
    made = uuid7()
    after = dt.datetime.now(dt.UTC)

    moment = dt.datetime.fromtimestamp((made.int >> 80) / 1000, dt.UTC)
    tolerance = dt.timedelta(milliseconds=1)
    assert before - tolerance <= moment <= after + tolerance


def test_ids_sort_by_time(monkeypatch: pytest.MonkeyPatch) -> None:
    moments = iter(range(1_700_000_000_000_000_000, 1_700_000_001_000_000_000, 777))
    monkeypatch.setattr("time.time_ns", lambda: next(moments))

    made = [uuid7() for _ in range(500)]

    assert made == sorted(made)
    assert [str(one) for one in made] == sorted(map(str, made))


def test_ids_made_in_the_same_instant_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.time_ns", lambda: 1_700_000_000_000_000_000)

    assert len({uuid7() for _ in range(10_000)}) == 10_000


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform does not fork")
def test_a_forked_process_makes_other_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.time_ns", lambda: 1_700_000_000_000_000_000)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing, uuid7_text().encode())
        os._exit(0)

    os.waitpid(child, 0)

    assert os.read(reading, 100).decode() != uuid7_text()
    os.close(reading)
    os.close(writing)
