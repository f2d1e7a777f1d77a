import datetime as dt
from typing import Any

import attrs
import pytest
from attrs import validators

from pragmatic_ddd.application.configuration import (
    EnvironmentConfigurationSource,
    MappingConfigurationSource,
    bind,
    duration,
)
from pragmatic_ddd.application.outbox import OutboxRelayConfig
from pragmatic_ddd.errors import ConfigurationError


@attrs.frozen(kw_only=True)
class AConfig:
    poll_interval: dt.timedelta = attrs.field(
        default=dt.timedelta(minutes=5), validator=validators.gt(dt.timedelta())
    )
    batch_size: int = attrs.field(default=200, validator=validators.ge(1))
    share: float = 0.5
    compact: bool = False
    topic: str = "events"
    tag: str | None = None


def bound(**settings: str) -> AConfig:
    keys = {f"outbox.{name.replace('_', '-')}": text for name, text in settings.items()}
    return bind(AConfig, MappingConfigurationSource(keys), prefix="outbox")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("250us", dt.timedelta(microseconds=250)),
        ("250ms", dt.timedelta(milliseconds=250)),
        ("30s", dt.timedelta(seconds=30)),
        ("30sec", dt.timedelta(seconds=30)),
        ("1.5s", dt.timedelta(seconds=1.5)),
        ("5m", dt.timedelta(minutes=5)),
        ("5min", dt.timedelta(minutes=5)),
        (" 5 MIN ", dt.timedelta(minutes=5)),
        ("2h", dt.timedelta(hours=2)),
        ("7d", dt.timedelta(days=7)),
        ("PT5M", dt.timedelta(minutes=5)),
        ("pt0.5s", dt.timedelta(seconds=0.5)),
        ("P1DT2H3M4.5S", dt.timedelta(days=1, hours=2, minutes=3, seconds=4.5)),
        ("P7D", dt.timedelta(days=7)),
        ("0s", dt.timedelta()),
    ],
)
def test_a_duration_is_read_with_its_unit(text: str, expected: dt.timedelta) -> None:
    assert duration(text) == expected


@pytest.mark.parametrize(
    "text", ["", "30", "s", "-5s", "5 weeks", "1e3s", "P", "PT", "P1DT", "5 min 3 s", "nan s"]
)
def test_what_is_no_duration_is_refused_with_examples(text: str) -> None:
    with pytest.raises(ValueError, match="a duration such as 250ms, 30s, 5min, 2h, 7d or PT5M"):
        duration(text)


@pytest.mark.parametrize("text", ["9999999999999d", "P999999999999D"])
def test_a_duration_that_no_timedelta_can_hold_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="less than a billion days"):
        duration(text)


def test_a_config_without_settings_has_its_defaults() -> None:
    assert bound() == AConfig()


def test_every_type_of_a_setting_is_read() -> None:
    config = bound(
        poll_interval="250ms", batch_size="50", share="0.25", compact="Yes", topic="a", tag="b"
    )

    assert config == AConfig(
        poll_interval=dt.timedelta(milliseconds=250),
        batch_size=50,
        share=0.25,
        compact=True,
        topic="a",
        tag="b",
    )


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("batch_size", "many", "outbox.batch-size = 'many': a whole number"),
        ("batch_size", "1.5", "outbox.batch-size = '1.5': a whole number"),
        ("share", "half", "outbox.share = 'half': a number"),
        ("compact", "maybe", "outbox.compact = 'maybe': true or false"),
        ("batch_size", "0", "outbox.batch-size = '0': 'batch_size' must be >= 1: 0"),
        (
            "poll_interval",
            "5",
            "outbox.poll-interval = '5': a duration such as 250ms, 30s, 5min, 2h, 7d or PT5M",
        ),
        (
            "poll_interval",
            "9999999999999d",
            "outbox.poll-interval = '9999999999999d': a duration of less than a billion days",
        ),
    ],
)
def test_a_wrong_setting_is_named_with_key_value_and_rule(
    name: str, text: str, sentence: str
) -> None:
    with pytest.raises(ConfigurationError) as caught:
        bound(**{name: text})

    assert caught.value.problems == (sentence,)


def test_every_wrong_setting_is_named_at_once() -> None:
    with pytest.raises(ConfigurationError) as caught:
        bound(poll_interval="0s", batch_size="many", compact="maybe")

    assert len(caught.value.problems) == 3
    assert "outbox.poll-interval = '0s'" in str(caught.value)
    assert "outbox.batch-size = 'many'" in str(caught.value)
    assert "outbox.compact = 'maybe'" in str(caught.value)


def test_what_only_the_class_as_a_whole_refuses_is_a_configuration_error_too() -> None:
    @attrs.frozen(kw_only=True)
    class Range:
        least: int = 1
        most: int = 10

        def __attrs_post_init__(self) -> None:
            if self.most < self.least:
                raise ValueError("most is less than least")

    source = MappingConfigurationSource({"range.least": "20"})

    with pytest.raises(ConfigurationError, match="range: most is less than least"):
        bind(Range, source, prefix="range")


def test_a_required_setting_that_is_missing_is_named() -> None:
    @attrs.frozen(kw_only=True)
    class Broker:
        address: str

    with pytest.raises(ConfigurationError, match=r"^broker\.address must be set$"):
        bind(Broker, MappingConfigurationSource({}), prefix="broker")


def test_a_field_that_no_setting_can_have_is_a_mistake_of_the_program() -> None:
    @attrs.frozen(kw_only=True)
    class Odd:
        parts: list[str] = attrs.field(factory=list)

    with pytest.raises(TypeError, match=r"odd\.parts"):
        bind(Odd, MappingConfigurationSource({"odd.parts": "a"}), prefix="odd")


def test_a_number_from_a_file_is_read_like_its_text() -> None:
    settings: dict[str, Any] = {"outbox.batch-size": 5, "outbox.poll-interval": 5}

    with pytest.raises(ConfigurationError, match=r"^outbox\.poll-interval = '5': a duration"):
        bind(OutboxRelayConfig, MappingConfigurationSource(settings), prefix="outbox")
    del settings["outbox.poll-interval"]
    config = bind(OutboxRelayConfig, MappingConfigurationSource(settings), prefix="outbox")
    assert config.batch_size == 5


def test_a_duration_is_no_number() -> None:
    seconds: Any = 1

    with pytest.raises(TypeError, match="poll_interval"):
        OutboxRelayConfig(poll_interval=seconds)


def test_the_environment_spells_a_key_in_capitals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_OUTBOX_POLL_INTERVAL", "2s")

    assert EnvironmentConfigurationSource("SHOP_").get("outbox.poll-interval") == "2s"
    assert EnvironmentConfigurationSource().get("outbox.poll-interval") is None


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("poll_interval", "outbox.poll-interval"),
        ("Batch-Size", "outbox.batch-size"),
        ("batchsize", "outbox.batch-size"),
    ],
)
def test_a_mistyped_key_is_reported_with_the_one_that_is_meant(name: str, meant: str) -> None:
    source = MappingConfigurationSource({f"outbox.{name}": "1s"})

    with pytest.raises(ConfigurationError) as error:
        bind(AConfig, source, prefix="outbox")

    assert str(error.value).endswith(f"outbox.{name}: no such setting; is {meant} meant?")


def test_a_key_that_resembles_none_is_reported_with_all_there_are() -> None:
    source = MappingConfigurationSource({"outbox.xyz": "1", "outbox.batch-size": "0"})

    with pytest.raises(ConfigurationError) as error:
        bind(AConfig, source, prefix="outbox")

    assert "outbox.xyz: no such setting; there are outbox.poll-interval, outbox.batch-size" in str(
        error.value
    )
    assert "outbox.batch-size = '0'" in str(error.value), "beside all the other problems"


def test_keys_of_others_are_not_this_configs_business() -> None:
    keys = [
        "shop.outbox.xyz",
        "outboxes.xyz",
        "outbox.eager.workers",
        "outbox",
        "xyz",
        "outbox.tag",
    ]

    assert bind(
        AConfig, MappingConfigurationSource(dict.fromkeys(keys, "1")), prefix="outbox"
    ) == AConfig(tag="1")


def test_a_source_that_cannot_list_its_keys_is_asked_for_each() -> None:
    class Source:
        def get(self, key: str) -> str | None:
            return "7" if key == "outbox.batch-size" else None

    assert bind(AConfig, Source(), prefix="outbox") == AConfig(batch_size=7)
