"""README and documentation: their code runs, their tables say what the code says."""

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests import servers
from tests.docs.page import program, python_blocks
from tests.script import child_environment

_ROOT = Path(__file__).parent.parent.parent
_PAGES = [
    _ROOT / "README.md",
    *sorted((_ROOT / "docs").glob("**/*.md")),
    *sorted((_ROOT / "examples").glob("**/*.md")),
]
_PAGES_WITH_CODE = [page for page in _PAGES if python_blocks(page)]

_CONSUMER_GROUP = re.compile(r'consumer_group="([\w.-]+)"')
_ENVIRONMENTS = {"rocketmq-grpc": ["grpc-python"]}


def _services(page: Path) -> list[str]:
    return sorted({block.service for block in python_blocks(page) if block.service})


def _cases() -> list[object]:
    cases: list[object] = []
    for page in _PAGES_WITH_CODE:
        name = str(page.relative_to(_ROOT))
        cases.append(pytest.param(page, [], id=name))
        for service in _services(page):
            marks = pytest.mark.service(service, *_ENVIRONMENTS.get(service, ()))
            cases.append(pytest.param(page, [service], id=f"{name}-{service}", marks=marks))
    return cases


@pytest.mark.parametrize(("page", "services"), _cases())
def test_the_code_of_a_page_runs_and_prints_what_it_says(
    page: Path, services: list[str], tmp_path: Path
) -> None:
    library = servers.rocketmq_library()
    environment = child_environment(
        NAME_SERVER=servers.rocketmq_name_server(),
        GRPC_ENDPOINT=servers.rocketmq_grpc_endpoint(),
        BOOTSTRAP_SERVERS=servers.kafka_bootstrap(),
        RABBITMQ_URL=servers.rabbitmq_url(),
        REDIS_URL=servers.redis_url(),
        ROCKETMQ_CLIENT_LOG_DIR=str(tmp_path),
    )
    if library is not None:
        environment["PRAGMATIC_DDD_ROCKETMQ_LIBRARY"] = str(library)

    python = servers.grpc_python() if "rocketmq-grpc" in services else sys.executable

    with _new_groups(page, services):
        done = subprocess.run(
            [python, "-W", "error", "-m", "tests.docs.page", str(page), *services],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    assert done.returncode == 0, done.stdout + done.stderr


@contextmanager
def _new_groups(page: Path, services: list[str]) -> Iterator[None]:
    """Take away the page's groups on RabbitMQ: their queues keep what an earlier run published."""
    if "rabbitmq" not in services:
        yield
        return
    from tests.adapters.rabbitmq.space import a_space  # needs the client

    with a_space() as space:
        for group in _CONSUMER_GROUP.findall(program(page)):
            space.also_group(group)
        space.take_down()
        yield


@pytest.mark.parametrize("page", _PAGES_WITH_CODE, ids=lambda page: str(page.relative_to(_ROOT)))
def test_what_a_reader_runs_stands_on_the_page(page: Path) -> None:
    is_hidden = [block.is_hidden for block in python_blocks(page) if block.is_run]

    assert is_hidden == sorted(is_hidden), "only what checks or cleans up, at the end, is hidden"


def test_the_code_of_the_pages_has_the_types_that_it_needs(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    for page in _PAGES_WITH_CODE:
        name = "_".join(page.relative_to(_ROOT).with_suffix("").parts)  # pages may share a stem
        (tmp_path / f"{name.replace('-', '_')}.py").write_text(program(page))

    done = subprocess.run(
        [sys.executable, "-m", "mypy", *sorted(map(str, tmp_path.glob("*.py")))],
        cwd=_ROOT,
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("page", _PAGES, ids=lambda page: str(page.relative_to(_ROOT)))
def test_a_page_links_to_what_is_there(page: Path) -> None:
    missing = [link for link in _relative_links(page) if not (page.parent / link).exists()]

    assert missing == []


def _relative_links(page: Path) -> list[str]:
    prose = re.sub(
        r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL
    )
    links = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", prose)
    return [link for link in links if "://" not in link and not link.startswith("mailto:")]
