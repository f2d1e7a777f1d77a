from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pragmatic_ddd.application.configuration import MappingConfigurationSource
from pragmatic_ddd.application.feature_toggle import (
    ConfigurableFeatureToggle,
    FeatureConfig,
    bucket,
)
from pragmatic_ddd.errors import ConfigurationError
from pragmatic_ddd.ports import IFeatureToggle, ToggleState

_FEATURES = ["new-pricing", "beta-api"]
_SUBJECTS = [f"user-{number}" for number in range(10_000)]


@attrs.frozen
class Unlisted:
    """A source that cannot list its keys, like the environment."""

    settings: MappingConfigurationSource

    def get(self, key: str) -> object:
        return self.settings.get(key)


def toggle(**settings: object) -> IFeatureToggle:
    source = MappingConfigurationSource({"feature": {"new-pricing": settings}})
    return ConfigurableFeatureToggle.bind(source, _FEATURES)


def rollout(percentage: float, *allow: str) -> ConfigurableFeatureToggle:
    config = FeatureConfig(state=ToggleState.ROLLOUT, percentage=percentage, allow=frozenset(allow))
    return ConfigurableFeatureToggle(dict.fromkeys(_FEATURES, config))


def test_a_feature_without_settings_is_off() -> None:
    assert toggle().state_of("new-pricing") is ToggleState.OFF
    assert not toggle().is_enabled("new-pricing")
    assert not toggle().is_enabled("new-pricing", subject_id="user-1")


def test_a_feature_that_is_on_is_on_for_everybody() -> None:
    assert toggle(state="ON").is_enabled("new-pricing")
    assert toggle(state="on").is_enabled("new-pricing", subject_id="user-1")


def test_a_feature_that_is_off_is_off_for_whom_a_rollout_would_include() -> None:
    off = toggle(state="off", percentage=100, allow=["user-1"])

    assert not off.is_enabled("new-pricing", subject_id="user-1")


@pytest.mark.parametrize("setting", ["percentage", "allow"])
@pytest.mark.parametrize("is_listed", [True, False])
def test_a_rollout_without_a_state_is_refused_rather_than_off(
    setting: str, is_listed: bool
) -> None:
    settings = MappingConfigurationSource({f"feature.new-pricing.{setting}": "50"})

    with pytest.raises(ConfigurationError) as caught:
        ConfigurableFeatureToggle.bind(settings if is_listed else Unlisted(settings), _FEATURES)

    assert caught.value.problems == ("feature.new-pricing.state must be set",)


def test_a_misspelt_state_is_no_feature_without_settings() -> None:
    with pytest.raises(ConfigurationError) as caught:
        toggle(stat="on")

    assert caught.value.problems == (
        "feature.new-pricing.stat: no such setting; is feature.new-pricing.state meant?",
        "feature.new-pricing.state must be set",
    )


def test_a_rollout_includes_whom_it_allows() -> None:
    beta = toggle(state="rollout", allow="shop-42, shop-99")

    assert beta.state_of("new-pricing") is ToggleState.ROLLOUT
    assert beta.is_enabled("new-pricing", subject_id="shop-99")
    assert not beta.is_enabled("new-pricing", subject_id="shop-9")


def test_a_rollout_is_off_where_nobody_says_for_whom() -> None:
    assert not rollout(100).is_enabled("new-pricing")


@pytest.mark.parametrize("percentage", [0, 0.01, 1, 12.5, 50, 99.99, 100])
def test_a_rollout_includes_about_its_percentage(percentage: float) -> None:
    share = rollout(percentage)

    included = sum(share.is_enabled("new-pricing", subject_id=each) for each in _SUBJECTS)

    assert included / 100 == pytest.approx(percentage, abs=1.5)
    if percentage in {0, 100}:
        assert included == percentage * 100


@given(
    st.floats(0, 100).map(lambda number: round(number, 2)),
    st.floats(0, 100).map(lambda number: round(number, 2)),
    st.text(),
)
def test_who_is_in_stays_in_while_the_percentage_grows(
    one: float, other: float, subject_id: str
) -> None:
    less, more = sorted([one, other])

    if rollout(less).is_enabled("beta-api", subject_id=subject_id):
        assert rollout(more).is_enabled("beta-api", subject_id=subject_id)


def test_two_features_pick_their_subjects_apart() -> None:
    tenth = rollout(10)

    both = sum(
        all(tenth.is_enabled(feature, subject_id=each) for feature in _FEATURES)
        for each in _SUBJECTS
    )

    assert both == pytest.approx(100, abs=40)


@pytest.mark.parametrize(
    ("feature", "subject_id", "place"),
    [
        ("new-pricing", "user-1", 7800),
        ("beta-api", "user-1", 5643),
        ("new-pricing", "\ud800ü", 8507),
    ],
)
def test_the_place_in_a_rollout_is_the_same_in_every_process_and_version(
    feature: str, subject_id: str, place: int
) -> None:
    assert bucket(feature, subject_id) == place


def test_every_wrong_setting_is_named() -> None:
    source = MappingConfigurationSource(
        {
            "feature.new-pricing.percentage": "12,5",
            "feature.beta-api.state": "perhaps",
            "feature.beta-api": "on",
            "feature.new-pricng.state": "on",
            "feature.xyz": "on",
            "features.xyz": "on",
        },
        name="x",
    )

    with pytest.raises(ConfigurationError) as caught:
        ConfigurableFeatureToggle.bind(source, _FEATURES)

    assert caught.value.problems == (
        "feature.beta-api in x: no such setting; is feature.beta-api.state meant?",
        "feature.new-pricng.state in x: no such feature; is new-pricing meant?",
        "feature.xyz in x: no such feature; there are new-pricing, beta-api",
        "feature.new-pricing.state must be set",
        "feature.new-pricing.percentage = '12,5' in x: a number",
        "feature.beta-api.state = 'perhaps' in x: one of off, rollout, on",
    )


@pytest.mark.parametrize("percentage", [-0.01, 100.01, 12.345, float("inf"), float("nan")])
def test_what_is_no_percentage_is_refused(percentage: float) -> None:
    with pytest.raises(ValueError, match=r"percentage from 0 to 100, in steps of 0\.01"):
        FeatureConfig(state=ToggleState.ROLLOUT, percentage=percentage)


@pytest.mark.parametrize("percentage", ["5", True, None])
def test_a_percentage_is_a_number(percentage: Any) -> None:  # noqa: ANN401  # a mistake
    with pytest.raises(TypeError, match=r"^percentage = .*: give a number$"):
        FeatureConfig(state=ToggleState.ROLLOUT, percentage=percentage)


def test_a_feature_that_does_not_exist_is_a_mistake_of_the_program() -> None:
    with pytest.raises(ValueError, match="'new-price': no such feature; there are new-pricing, be"):
        toggle().is_enabled("new-price")
    with pytest.raises(ValueError, match="'a': no such feature; there are none"):
        ConfigurableFeatureToggle({}).state_of("a")


@pytest.mark.parametrize("name", ["New", "a.b", "a_b", "-a", "a-", "", "1a", "a b"])
def test_a_name_that_no_key_can_have_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="lower-case words with hyphens"):
        ConfigurableFeatureToggle.bind(MappingConfigurationSource({}), [name])


def test_names_are_a_list() -> None:
    with pytest.raises(TypeError, match=r"^features = 'beta-api': give a list"):
        ConfigurableFeatureToggle.bind(MappingConfigurationSource({}), "beta-api")


def test_the_id_of_a_subject_is_text() -> None:
    wrong: Any = 5

    with pytest.raises(TypeError, match=r"^subject_id = 5: give a str$"):
        toggle(state="on").is_enabled("new-pricing", subject_id=wrong)
