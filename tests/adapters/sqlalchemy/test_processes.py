"""Forks, signals and the end of the interpreter, with real databases and real children.

Afterwards every row that was committed has reached the broker once, or goes there once with the
next relay: nothing is lost, nothing comes twice, and nothing waits for a grace without need.
"""

import datetime as dt
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import attrs
import pytest
import sqlalchemy as sa

from pragmatic_ddd.application.outbox import OutboxRelay
from tests.adapters.sqlalchemy.databases import EVERY_DATABASE
from tests.adapters.sqlalchemy.process_shop import FileBroker
from tests.databases import (
    OutboxDatabase,
    mariadb_engine,
    outbox_database,
    postgresql_engine,
    sqlite_engine,
)
from tests.script import needs_fork, run_script
from tests.unit.application.outbox.builders import eventually

_TIMEOUT_SECONDS = 60
_GRACE_OR_LEASE = dt.timedelta(seconds=60)
# What is queued at the end takes longer than a shutdown lets it go out and waits for threads.
_SLOWLY = {"pause": 0.2, "shutdown": 0.5}

_SETUP = """
import datetime as dt
import os
import signal
import sys
import threading
import time

from tests.adapters.sqlalchemy.process_shop import ProcessShop
from tests.forked import exit_codes, in_child
from tests.unit.application.outbox.builders import a_message, eventually, push, seconds

shop = ProcessShop(pause_seconds=PAUSE, shutdown_seconds=SHUTDOWN)
eager = shop.eager


def push_some(prefix, count):
    for number in range(count):
        push(eager, a_message(f"{prefix}-{number}", of=f"{prefix}-{number}"))

"""


@attrs.define
class Processes:
    """Runs scripts on a database, and knows what has become of their messages."""

    database: OutboxDatabase
    broker: Path

    def run(
        self, body: str, *, pause: float = 0.0, shutdown: float = 2.0
    ) -> subprocess.CompletedProcess[str]:
        return run_script(
            _SETUP.replace("PAUSE", str(pause)).replace("SHUTDOWN", str(shutdown)),
            body,
            timeout_seconds=_TIMEOUT_SECONDS,
            variables={
                "URL": self.database.engine.url.render_as_string(hide_password=False),
                "TABLE": self.database.table.name,
                "BROKER": str(self.broker),
            },
        )

    def confirmed(self) -> Counter[str]:
        return Counter(self.broker.read_text().splitlines()) if self.broker.exists() else Counter()

    def committed(self) -> set[str]:
        with self.database.engine.connect() as connection:
            return set(connection.scalars(sa.select(self.database.table.c.message_id)))

    def owned(self) -> int:
        """Count the rows that have an owner, and would have to wait until its time is over."""
        row = self.database.table.c
        statement = sa.select(sa.func.count()).where(
            row.status.not_in(["SENT", "SKIPPED"]), row.claim_token.is_not(None)
        )
        with self.database.engine.connect() as connection:
            return connection.execute(statement).scalar_one()

    def relay_the_rest(self) -> None:
        store = self.database.store()
        relay = OutboxRelay(store=store, publisher=FileBroker(self.broker))

        def is_done() -> bool:
            relay.run_once()
            backlog = store.backlog()
            return backlog.pending + backlog.processing == 0

        self.database.pass_time(_GRACE_OR_LEASE)
        eventually(is_done, within=dt.timedelta(seconds=30))

    def assert_each_went_out_once(self, expected: int) -> None:
        self.relay_the_rest()
        assert len(self.committed()) == expected
        assert self.confirmed() == Counter(self.committed())


@pytest.fixture(params=EVERY_DATABASE)
def processes(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Processes]:
    engines: dict[str, Callable[[], sa.Engine]] = {
        "sqlite": lambda: sqlite_engine(tmp_path),
        "postgresql": postgresql_engine,
        "mariadb": mariadb_engine,
    }
    with outbox_database(engines[request.param]()) as database:
        yield Processes(database, tmp_path / "broker")


@pytest.fixture
def on_sqlite(tmp_path: Path) -> Iterator[Processes]:
    with outbox_database(sqlite_engine(tmp_path)) as database:
        yield Processes(database, tmp_path / "broker")


@needs_fork
def test_workers_forked_from_a_process_that_has_published_publish_on_connections_of_their_own(
    processes: Processes,
) -> None:
    done = processes.run("""
        push_some("parent", 5)
        assert eager.wait_until_idle(seconds(20))
        parents = shop.connection_ids()

        def work():
            prefix = f"child-{os.getpid()}"
            shop.store.store([a_message(f"{prefix}-left")])
            push_some(prefix, 10)
            assert not shop.connection_ids() & parents
            begun = time.monotonic()
            assert eager.shutdown()
            assert time.monotonic() - begun < 20

        print(exit_codes([in_child(work) for _ in range(3)]))
        push_some("parent again", 5)
        assert eager.wait_until_idle(seconds(20))
    """)

    assert (done.stdout, done.stderr) == ("[0, 0, 0]\n", "")
    assert sum(processes.confirmed().values()) == 40, "at once, without a relay"
    assert processes.owned() == 0
    processes.assert_each_went_out_once(43)


@needs_fork
def test_a_fork_while_the_parent_is_busy_publishing(processes: Processes) -> None:
    done = processes.run("""
        is_over = threading.Event()
        pushed = [0, 0]

        def be_busy(number):
            while not is_over.is_set():
                push_some(f"parent-{number}-{pushed[number]}", 1)
                pushed[number] += 1

        def work():
            push_some(f"child-{os.getpid()}", 5)
            assert eager.shutdown()

        threads = [threading.Thread(target=be_busy, args=(number,)) for number in range(2)]
        for thread in threads:
            thread.start()
        children = []
        for _ in range(6):
            before = sum(pushed)
            eventually(lambda: sum(pushed) > before, within=seconds(30))
            children.append(in_child(work))
        print(exit_codes(children))
        is_over.set()
        for thread in threads:
            thread.join()
        assert eager.shutdown()
        print(sum(pushed))
    """)

    assert done.stderr == ""
    codes, pushed = done.stdout.splitlines()
    assert codes == "[0, 0, 0, 0, 0, 0]"
    assert processes.owned() == 0
    processes.assert_each_went_out_once(30 + int(pushed))


@needs_fork
def test_a_fork_waits_for_a_thread_that_needs_a_second_connection(on_sqlite: Processes) -> None:
    done = on_sqlite.run("""
        from pragmatic_ddd_sqlalchemy import sqlite_fork

        sqlite_fork._PATIENCE_SECONDS = 30
        is_held, is_forking = threading.Event(), threading.Event()

        def hold_two():
            with shop.engine.connect():
                is_held.set()
                is_forking.wait()
                end = time.monotonic() + 0.5
                while time.monotonic() < end:  # at some of these the fork waits already
                    with shop.engine.connect():
                        time.sleep(0.001)

        holder = threading.Thread(target=hold_two)
        holder.start()
        is_held.wait()
        os.register_at_fork(before=is_forking.set)  # called before those that were there before
        begun = time.monotonic()
        print(exit_codes([in_child(lambda: push_some("child", 1))]))
        assert time.monotonic() - begun < 25
        holder.join()
    """)

    assert (done.stdout, done.stderr) == ("[0]\n", "")


_ENDINGS = {
    "the end of the script": "pass",
    "sys.exit": "sys.exit(3)",
    "an exception": "raise ZeroDivisionError",
    "sys.exit in a thread": "threading.Thread(target=sys.exit).start()",
    "an end while daemon threads push": """
threading.Thread(target=lambda: push_some("daemon", 10**6), daemon=True).start()
eventually(lambda: shop.broker.begun > 3)
""",
    "two shutdowns": "eager.shutdown(); eager.shutdown()",
    "a shutdown by atexit": "import atexit; atexit.register(eager.shutdown)",
    "shutdowns in two threads": """
threads = [threading.Thread(target=eager.shutdown) for _ in range(2)]
for thread in threads: thread.start()
for thread in threads: thread.join()
""",
    "SIGTERM and then again": """
signal.signal(signal.SIGTERM, lambda *_: (eager.shutdown(), sys.exit(0)))
threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGTERM)).start()
threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGTERM)).start()
push_some("more", 10**6)
""",
}
# An interrupted transaction holds other locks on each; what is left is given back with its SQL.
_DIFFERS = ("the end of the script", "SIGTERM and then again")


@pytest.mark.parametrize("ending", _ENDINGS)
def test_what_is_queued_at_the_end_is_sent_or_given_back(processes: Processes, ending: str) -> None:
    if processes.database.engine.name != "sqlite" and ending not in _DIFFERS:
        pytest.skip("the same on every database")
    begun = time.monotonic()

    processes.run(f"push_some('m', 40)\n{_ENDINGS[ending]}", **_SLOWLY)

    assert time.monotonic() - begun < 30
    # SIGTERM may come between a commit and its announcement: nobody knows of that row.
    assert processes.owned() <= ("SIGTERM" in ending), "the next relay need not wait"
    expected = len(processes.committed())
    assert expected >= 40
    processes.assert_each_went_out_once(expected)


def test_what_a_process_leaves_that_ends_without_a_word_goes_out_after_its_grace(
    processes: Processes,
) -> None:
    done = processes.run("push_some('m', 50); os._exit(0)", pause=0.05)

    assert done.returncode == 0
    assert processes.owned() > 0
    processes.relay_the_rest()
    confirmed = processes.confirmed()
    assert set(confirmed) == processes.committed()
    assert len(confirmed) == 50
    assert max(confirmed.values()) <= 2, "twice where the end came before the mark"


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_children_of_multiprocessing_send_or_give_back_what_they_have_queued(
    on_sqlite: Processes, method: str
) -> None:
    done = on_sqlite.run(
        f"""
        import multiprocessing

        def work(prefix):
            push_some(prefix, 30)

        if __name__ == "__main__":
            push_some("parent", 5)
            context = multiprocessing.get_context("{method}")
            children = [context.Process(target=work, args=(f"child {{n}}",)) for n in range(2)]
            for child in children:
                child.start()
            for child in children:
                child.join(40)
            print([child.exitcode for child in children])
        """,
        **_SLOWLY,
    )

    assert (done.stdout, done.stderr) == ("[0, 0]\n", "")
    assert on_sqlite.owned() == 0
    on_sqlite.assert_each_went_out_once(65)
