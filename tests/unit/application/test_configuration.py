import datetime as dt
import enum
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import attrs
import pytest
from attrs import validators

from pragmatic_ddd.application.configuration import (
    EnvironmentConfigurationSource,
    LayeredConfigurationSource,
    MappingConfigurationSource,
    TomlConfigurationSource,
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
        parts: dict[str, str] = attrs.field(factory=dict)

    with pytest.raises(TypeError, match=r"odd\.parts"):
        bind(Odd, MappingConfigurationSource({"odd.parts": "a"}), prefix="odd")


def test_a_number_from_a_file_is_read_like_its_text() -> None:
    settings: dict[str, Any] = {"outbox.batch-size": 5, "outbox.poll-interval": 5}

    with pytest.raises(ConfigurationError, match=r"^outbox\.poll-interval = 5: a duration"):
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


class Color(enum.Enum):
    RED = "r"
    DARK_BLUE = 2


@attrs.frozen(kw_only=True)
class Everything:
    color: Color = Color.RED
    colors: tuple[Color, ...] = ()
    waits: list[dt.timedelta] = attrs.field(factory=list)
    hosts: frozenset[str] = frozenset()
    limit: Decimal = Decimal(0)
    since: dt.datetime = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    day: dt.date = dt.date(2026, 1, 1)
    folder: Path = Path()
    share: float = 0.5
    count: int = 1
    compact: bool = False
    text: str = ""
    wait: dt.timedelta | None = None


def read(name: str, value: object) -> object:
    source = MappingConfigurationSource({f"all.{name}": value})
    return getattr(bind(Everything, source, prefix="all"), name)


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("color", "r", Color.RED),
        ("color", "red", Color.RED),
        ("color", "Dark-Blue", Color.DARK_BLUE),
        ("color", "2", Color.DARK_BLUE),
        ("color", 2, Color.DARK_BLUE),
        ("color", Color.RED, Color.RED),
        ("colors", "red, 2", (Color.RED, Color.DARK_BLUE)),
        ("colors", ["red", 2], (Color.RED, Color.DARK_BLUE)),
        ("colors", " ", ()),
        ("waits", "1s,2min", [dt.timedelta(seconds=1), dt.timedelta(minutes=2)]),
        ("hosts", "b, a,b", frozenset({"a", "b"})),
        ("hosts", {"a"}, frozenset({"a"})),
        ("limit", "0.10", Decimal("0.10")),
        ("limit", 7, Decimal(7)),
        ("limit", Decimal("1.5"), Decimal("1.5")),
        ("since", "2026-01-31T12:00:00Z", dt.datetime(2026, 1, 31, 12, tzinfo=dt.UTC)),
        (
            "since",
            dt.datetime(2026, 1, 31, tzinfo=dt.UTC),
            dt.datetime(2026, 1, 31, tzinfo=dt.UTC),
        ),
        ("day", "2026-01-31", dt.date(2026, 1, 31)),
        ("day", dt.date(2026, 1, 31), dt.date(2026, 1, 31)),
        ("folder", "/var/log", Path("/var/log")),
        ("folder", Path("logs"), Path("logs")),
        ("share", 1, 1.0),
        ("share", 0.25, 0.25),
        ("count", 5, 5),
        ("count", " 5 ", 5),
        ("compact", True, True),
        ("text", "", ""),
        ("wait", "5s", dt.timedelta(seconds=5)),
        ("wait", dt.timedelta(seconds=5), dt.timedelta(seconds=5)),
        ("wait", None, None),
    ],
)
def test_a_value_is_read_from_text_or_as_the_type_it_has(
    name: str, value: object, expected: object
) -> None:
    found = read(name, value)

    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("name", "value", "rule"),
    [
        ("color", "green", "one of r, 2"),
        ("colors", "red, green", "[1] = 'green': one of r, 2"),
        ("colors", "red,,2", "a list such as a, b, with something on each side of a comma"),
        ("colors", 2, "a list such as a, b, with something on each side of a comma"),
        ("waits", ["1s", 2], "[1] = 2: a duration such as 250ms, 30s, 5min, 2h, 7d or PT5M"),
        ("limit", 0.1, 'an exact number: where the file has quotes, in quotes: "0.1"'),
        ("limit", "much", 'an exact number: where the file has quotes, in quotes: "0.1"'),
        ("limit", "nan", 'an exact number: where the file has quotes, in quotes: "0.1"'),
        ("limit", True, 'an exact number: where the file has quotes, in quotes: "0.1"'),
        (
            "since",
            "2026-01-31T12:00:00",
            "a date and time with its offset from UTC, such as 2026-01-31T12:00:00Z",
        ),
        (
            "since",
            "then",
            "a date and time with its offset from UTC, such as 2026-01-31T12:00:00Z",
        ),
        ("day", "yesterday", "a date such as 2026-01-31"),
        ("day", dt.datetime(2026, 1, 31, tzinfo=dt.UTC), "a date such as 2026-01-31"),
        ("folder", " ", "a path"),
        ("folder", 5, "a path"),
        ("share", "nan", "a number"),
        ("share", True, "a number"),
        ("share", [0.5], "a number"),
        ("count", 5.0, "a whole number"),
        ("count", True, "a whole number"),
        ("compact", 1, "true or false"),
        ("text", 5, "text, in quotes"),
    ],
)
def test_a_value_of_another_type_is_refused_with_the_rule(
    name: str, value: object, rule: str
) -> None:
    with pytest.raises(ConfigurationError) as caught:
        read(name, value)

    assert caught.value.problems == (f"all.{name} = {value!r}: {rule}",)


@pytest.mark.parametrize("kind", [tuple[int, str], tuple[int], tuple[()], int | str, bytes, set])
def test_a_type_that_no_setting_can_have_is_named(kind: type) -> None:
    odd = attrs.make_class("Odd", {"part": attrs.field(type=kind, default=None)}, frozen=True)

    with pytest.raises(TypeError, match=r"^odd\.part: no setting can have the type"):
        bind(odd, MappingConfigurationSource({"odd.part": "a"}), prefix="odd")


@attrs.frozen(kw_only=True)
class Mail:
    host: str
    port: int = attrs.field(default=25, validator=validators.ge(1))
    retries: tuple[int, ...] = ()

    def __attrs_post_init__(self) -> None:
        if self.host == "localhost" and self.port == 25:
            raise ValueError("localhost has no port 25")


@attrs.frozen(kw_only=True)
class Shop:
    mail: Mail
    backup: Mail | None = None
    fallback: Mail = Mail(host="fallback", port=26)
    other: Mail = attrs.field(factory=lambda: Mail(host="other"))
    name: str = attrs.field(
        default=attrs.Factory(lambda self: self.mail.host, takes_self=True), alias="title"
    )
    _count: int = attrs.field(default=0)
    made: int = attrs.field(init=False, default=7)


_SETTINGS_OF_SHOP = ["mail", "backup", "fallback", "other", "title", "count"]


def shop(**settings: object) -> Shop:
    return bind(Shop, MappingConfigurationSource({"shop": settings}), prefix="shop")


def test_a_config_in_a_config_is_read_from_the_keys_below_its_own() -> None:
    config = shop(mail={"host": "smtp", "port": "587", "retries": [1, 2]}, title="A", count=3)

    assert config == Shop(mail=Mail(host="smtp", port=587, retries=(1, 2)), title="A", count=3)


def test_two_settings_that_would_be_one_variable_are_refused_from_whatever_source() -> None:
    @attrs.frozen
    class Inner:
        host: str = "localhost"

    @attrs.frozen
    class Outer:
        mail: Inner | None = None
        mail_host: str = "localhost"

    with pytest.raises(
        TypeError,
        match=r"shop\.mail\.host and shop\.mail-host would both .* variable SHOP_MAIL_HOST: rename",
    ):
        bind(Outer, MappingConfigurationSource({}), prefix="shop")


def test_an_optional_config_is_there_once_something_is_set_below_it() -> None:
    assert shop(mail={"host": "a"}).backup is None
    assert shop(mail={"host": "a"}, backup={"host": "b"}).backup == Mail(host="b")


def test_what_is_not_set_keeps_the_value_of_a_default_config() -> None:
    config = shop(mail={"host": "a"}, fallback={"host": "b"}, other={"port": 1})

    assert config.fallback == Mail(host="b", port=26)
    assert config.other == Mail(host="other", port=1)


def test_a_config_in_an_optional_config_is_found() -> None:
    @attrs.frozen(kw_only=True)
    class Outer:
        shop: Shop | None = None

    outer = attrs.resolve_types(Outer, {"Shop": Shop})
    source = SourceWithoutKeys({"outer.shop.mail.host": "a"})

    assert bind(outer, source, prefix="outer") == Outer(shop=Shop(mail=Mail(host="a")))
    assert bind(outer, SourceWithoutKeys({}), prefix="outer") == Outer()


def test_the_problems_of_inner_and_outer_configs_are_named_together() -> None:
    with pytest.raises(ConfigurationError) as caught:
        shop(
            mail={"port": "0"},
            backup={"hots": "a"},
            fallback={"host": "localhost", "port": 25},
            count="x",
            made="1",
            other="a",
            title={"de": "b"},
        )

    assert caught.value.problems == (
        f"shop.made: no such setting; there are shop.{', shop.'.join(_SETTINGS_OF_SHOP)}",
        "shop.other: no such setting; its own are below it",
        "shop.title.de: no such setting; shop.title is one, and no table",
        "shop.mail.host must be set",
        "shop.mail.port = '0': 'port' must be >= 1: 0",
        "shop.backup.hots: no such setting; is shop.backup.host meant?",
        "shop.backup.host must be set",
        "shop.fallback: localhost has no port 25",
        "shop.count = 'x': a whole number",
    )


@attrs.frozen
class SourceWithoutKeys:
    settings: Mapping[str, object]

    def get(self, key: str) -> object:
        return self.settings.get(key)


def test_a_secret_is_not_shown() -> None:
    @attrs.frozen(kw_only=True)
    class Account:
        secret: str = attrs.field(repr=False, validator=validators.max_len(3))

    with pytest.raises(ConfigurationError) as caught:
        bind(Account, MappingConfigurationSource({"a.secret": "swordfish"}), prefix="a")

    assert str(caught.value) == "a.secret is refused; its value is not shown"


def test_the_rule_that_a_secret_breaks_is_shown_without_it() -> None:
    @attrs.frozen(kw_only=True)
    class Account:
        pin: int = attrs.field(repr=False)
        life: dt.timedelta = attrs.field(repr=False)
        codes: tuple[tuple[int, ...], ...] = attrs.field(repr=False)
        color: Color = attrs.field(repr=False)

    settings = {"pin": "4711x", "life": "5 4711", "codes": [["4711x"]], "color": "4711"}

    with pytest.raises(ConfigurationError) as caught:
        bind(Account, MappingConfigurationSource({"a": settings}, name="x"), prefix="a")

    assert caught.value.problems == (
        "a.pin in x: a whole number",
        "a.life in x: a duration such as 250ms, 30s, 5min, 2h, 7d or PT5M",
        "a.codes in x: a whole number",
        "a.color in x: one of r, 2",
    )


def test_a_secret_is_not_shown_by_a_check_of_the_whole_either() -> None:
    @attrs.frozen(kw_only=True)
    class Account:
        user: str
        secret: str = attrs.field(repr=False, default="")

        def __attrs_post_init__(self) -> None:
            if self.user == self.secret or not self.secret:
                raise ValueError(f"{self.secret!r} is no secret")

    def problems(**settings: str) -> tuple[str, ...]:
        with pytest.raises(ConfigurationError) as caught:
            bind(Account, MappingConfigurationSource({"a": settings}), prefix="a")
        return caught.value.problems

    assert problems(user="me", secret="me") == (
        "a is refused; why is not shown, for it names a secret",
    )
    assert problems(user="me") == ("a: '' is no secret",)


def test_a_validator_may_compare_with_other_fields() -> None:
    @attrs.frozen(kw_only=True)
    class Range:
        low: int
        high: int = attrs.field(default=5)

        @high.validator
        def _check_high(self, _: object, value: int) -> None:
            if value < self.low:
                raise ValueError(f"high = {value}: at least {self.low}, which is low")

    config = bind(Range, MappingConfigurationSource({"r": {"low": 6, "high": 7}}), prefix="r")
    assert config == Range(low=6, high=7)
    with pytest.raises(ConfigurationError) as caught:
        bind(Range, MappingConfigurationSource({"r": {"low": 8, "high": "7"}}), prefix="r")
    assert caught.value.problems == ("r: high = 7: at least 8, which is low",)


def test_a_problem_names_where_the_setting_stands(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "shop.toml"
    file.write_text('[outbox]\nbatch-size = "many"\nbatchsize = 1\n')
    monkeypatch.setenv("SHOP_OUTBOX_SHARE", "half")
    source = LayeredConfigurationSource(
        [
            EnvironmentConfigurationSource("SHOP_"),
            SourceWithoutKeys({"outbox.poll-interval": "5"}),
            TomlConfigurationSource(file),
            MappingConfigurationSource({"outbox.compact": "maybe"}, name="defaults"),
        ]
    )

    with pytest.raises(ConfigurationError) as caught:
        bind(AConfig, source, prefix="outbox")

    assert caught.value.problems == (
        f"outbox.batchsize in {file}: no such setting; is outbox.batch-size meant?",
        "outbox.poll-interval = '5': a duration such as 250ms, 30s, 5min, 2h, 7d or PT5M",
        f"outbox.batch-size = 'many' in {file}: a whole number",
        "outbox.share = 'half' from SHOP_OUTBOX_SHARE: a number",
        "outbox.compact = 'maybe' in defaults: true or false",
    )


def test_the_first_layer_that_has_a_setting_wins() -> None:
    layers = LayeredConfigurationSource(
        [
            MappingConfigurationSource({"outbox.topic": "first"}),
            MappingConfigurationSource({"outbox.topic": "second", "outbox.tag": "second"}),
        ]
    )

    assert bind(AConfig, layers, prefix="outbox") == AConfig(topic="first", tag="second")
    assert list(layers.keys()) == ["outbox.topic", "outbox.tag"]
    assert layers.origin("outbox.xyz") == ""


def test_a_layer_must_be_a_source() -> None:
    wrong: Any = [MappingConfigurationSource({}), {"outbox.tag": "a"}.keys()]

    with pytest.raises(TypeError, match=r"^sources\[1\] = .*: give an IConfigurationSource"):
        LayeredConfigurationSource(wrong)
    wrong = MappingConfigurationSource({})
    with pytest.raises(TypeError, match=r"^sources = "):
        LayeredConfigurationSource(wrong)


def test_tables_of_a_file_become_dotted_keys_and_keep_their_types(tmp_path: Path) -> None:
    file = tmp_path / "shop.toml"
    file.write_text(
        """
        [all]
        compact = true
        colors = ["red", 2]
        since = 2026-01-31T12:00:00Z
        [event.topic]
        "shop.order.paid" = "payments"
        """
    )

    source = TomlConfigurationSource(file)

    assert sorted(source.keys()) == [
        "all.colors",
        "all.compact",
        "all.since",
        "event.topic.shop.order.paid",
    ]
    assert source.get("event.topic.shop.order.paid") == "payments"
    assert source.get("all") is None
    assert bind(Everything, source, prefix="all") == Everything(
        compact=True,
        colors=(Color.RED, Color.DARK_BLUE),
        since=dt.datetime(2026, 1, 31, 12, tzinfo=dt.UTC),
    )


@pytest.mark.parametrize(
    ("content", "problem"), [(b"[outbox", "no TOML: "), (b"a = '\xff'", "no TOML: ")]
)
def test_a_file_that_is_no_toml_is_named(content: bytes, problem: str, tmp_path: Path) -> None:
    file = tmp_path / "shop.toml"
    file.write_bytes(content)

    with pytest.raises(ConfigurationError) as caught:
        TomlConfigurationSource(file)

    assert str(caught.value).startswith(f"{file} is {problem}")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"shop\.toml: No such file or directory$"):
        TomlConfigurationSource(tmp_path / "shop.toml")


def test_a_key_that_is_there_twice_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"^a\.b in x is set twice$"):
        MappingConfigurationSource({"a.b": 1, "a": {"b": 2}}, name="x")


def test_a_source_is_made_of_a_mapping() -> None:
    wrong: Any = [("a", 1)]

    with pytest.raises(TypeError, match=r"^settings = "):
        MappingConfigurationSource(wrong)


def test_the_text_of_a_source_does_not_tell_its_settings(tmp_path: Path) -> None:
    file = tmp_path / "shop.toml"
    file.write_text("secret = 'swordfish'")
    mapping = MappingConfigurationSource({"secret": "swordfish"})
    layers = LayeredConfigurationSource([mapping, TomlConfigurationSource(file)])

    assert "swordfish" not in repr(layers)
