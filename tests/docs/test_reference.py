"""The pages of the reference say what the code says."""

import datetime as dt
import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest
import sqlalchemy as sa

from pragmatic_ddd import errors
from pragmatic_ddd.application.configuration import MappingConfigurationSource, bind, duration
from pragmatic_ddd.application.outbox import EagerPoolConfig, OutboxRelayConfig
from pragmatic_ddd.errors import ConfigurationError, PragmaticError
from pragmatic_ddd_kafka import KafkaConfig
from pragmatic_ddd_local import LocalEventManagerConfig
from pragmatic_ddd_rabbitmq import RabbitMqConfig
from pragmatic_ddd_redis import RedisConfig
from pragmatic_ddd_rocketmq import RocketMqConfig
from pragmatic_ddd_rocketmq_grpc import RocketMqGrpcConfig
from pragmatic_ddd_sqlalchemy import outbox_table

_REFERENCE = Path(__file__).parent.parent.parent / "docs" / "reference"


def _rows(page: str, columns: int) -> Iterator[list[str]]:
    """Yield the cells of the rows of the tables with that many columns, without the heads."""
    for line in (_REFERENCE / page).read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| `") and len(cells) == columns:
            yield cells


def _name(cell: str) -> str:
    found = re.match(r"`([^`]+)`", cell)
    return found[1] if found else ""


def test_the_page_of_errors_lists_every_error_as_it_is() -> None:
    listed = {_name(row[0]): (_name(row[1]), row[2]) for row in _rows("errors.md", 4)}

    public = [
        cls
        for name, cls in inspect.getmembers(errors, inspect.isclass)
        if issubclass(cls, PragmaticError) and not name.startswith("_")
    ]
    assert listed == {
        cls.__name__: (_public_base(cls), "yes" if cls.retryable else "no") for cls in public
    }


def test_the_page_of_errors_names_those_that_adapters_offer() -> None:
    page = (_REFERENCE / "errors.md").read_text(encoding="utf-8")
    adapters = (_REFERENCE.parents[1] / "adapters").glob("pragmatic_ddd_*/__init__.py")
    offered = {
        name
        for adapter in adapters
        for name in importlib.import_module(adapter.parent.name).__all__
        if name.endswith("Error")
    }

    assert offered
    assert {name for name in offered if f"`{name}`" not in page} == set()


def _public_base(cls: type[PragmaticError]) -> str:
    bases = [base for base in cls.__mro__[1:] if issubclass(base, PragmaticError)]
    return next((base.__name__ for base in bases if not base.__name__.startswith("_")), "")


_CONFIGS: dict[str, type[Any]] = {
    "outbox": OutboxRelayConfig,
    "outbox.eager": EagerPoolConfig,
    "event.local": LocalEventManagerConfig,
    "kafka": KafkaConfig,
    "rabbitmq": RabbitMqConfig,
    "redis": RedisConfig,
    "rocketmq": RocketMqConfig,
    "rocketmq-grpc": RocketMqGrpcConfig,
}
_REQUIRED = {
    "kafka.bootstrap-servers": "127.0.0.1:9092",
    "rabbitmq.url": "amqp://127.0.0.1",
    "redis.url": "redis://127.0.0.1",
    "rocketmq.name-server": "127.0.0.1:9876",
    "rocketmq-grpc.endpoints": "127.0.0.1:8081",
}
_SETTINGS = {_name(row[0]): row for row in _rows("configuration.md", 4)}
_FIELDS = {
    f"{prefix}.{field.name.replace('_', '-')}": field
    for prefix, config in _CONFIGS.items()
    for field in attrs.fields(config)
}


def test_the_page_of_settings_lists_every_key() -> None:
    assert sorted(_SETTINGS) == sorted(_FIELDS)


@pytest.mark.parametrize("key", sorted(_FIELDS))
def test_a_setting_has_the_default_that_the_page_says(key: str) -> None:
    default = _FIELDS[key].default
    said = _name(_SETTINGS[key][1])

    if default in (attrs.NOTHING, None, ()):
        assert said == ""
    elif isinstance(default, dt.timedelta):
        assert duration(said) == default
    else:
        assert said == str(default).lower()


@pytest.mark.parametrize("key", sorted(_FIELDS))
def test_a_setting_allows_what_the_page_says_and_no_more(key: str) -> None:
    allowed = _SETTINGS[key][2]
    lowest, highest = _bounds(allowed)

    if lowest is None:
        assert allowed in {"text", "`true` or `false`", "`session-timeout` to `1d`"}
        return
    is_duration = isinstance(_FIELDS[key].default, dt.timedelta)
    step = 0.001 if is_duration else 1.0
    assert _accepts(key, lowest, is_duration)
    assert lowest == 0 or not _accepts(key, lowest - step, is_duration)
    if highest is not None:
        assert _accepts(key, highest, is_duration)
        assert not _accepts(key, highest + step, is_duration)


def _bounds(allowed: str) -> tuple[float | None, float | None]:
    """Read the lowest and the highest amount: "above 0, up to 1h", "at least 1", "1 to 256"."""
    if found := re.fullmatch(r"above 0(?:, up to `(\w+)`)?", allowed):
        return 0.001, _amount(found[1])
    if found := re.fullmatch(r"at least `?(\w+)`?", allowed):
        return _amount(found[1]), None
    if found := re.fullmatch(r"`(\w+)` to `(\w+)`", allowed):
        return _amount(found[1]), _amount(found[2])
    return None, None


def _amount(text: str | None) -> float | None:
    if text is None:
        return None
    return float(text) if text.isdigit() else duration(text).total_seconds()


def _accepts(key: str, amount: float, is_duration: bool) -> bool:
    prefix = key.rpartition(".")[0]
    text = f"{amount * 1000:.0f}ms" if is_duration else f"{amount:.0f}"
    try:
        bind(_CONFIGS[prefix], MappingConfigurationSource({**_REQUIRED, key: text}), prefix=prefix)
    except ConfigurationError:
        return False
    return True


def test_the_page_of_the_table_lists_its_columns_in_order() -> None:
    listed = [_name(row[0]) for row in _rows("table.md", 2)]

    assert listed == outbox_table(sa.MetaData()).columns.keys()
