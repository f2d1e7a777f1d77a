"""Contract of ``IFeatureToggle``: subclass it, provide a fixture, run pytest.

    class TestMine(FeatureToggleContract):
        @pytest.fixture
        def toggle(self) -> IFeatureToggle: ...

The features of the toggle are ``OFF``, ``ON``, and ``HALF``, which is being rolled out to half of
the subjects.
"""

from abc import abstractmethod
from concurrent.futures import ThreadPoolExecutor

import pytest

from pragmatic_ddd.ports.feature_toggle import IFeatureToggle, ToggleState

OFF = "test-off"
ON = "test-on"
HALF = "test-half"

_SUBJECTS = [f"user-{number}" for number in range(200)]


class FeatureToggleContract:
    """What every toggle promises: one answer for one subject, and none for a misspelt feature."""

    @pytest.fixture
    @abstractmethod
    def toggle(self) -> IFeatureToggle:
        """Return a toggle that knows ``OFF``, ``ON`` and ``HALF``, and no other feature."""

    def test_it_says_how_far_a_feature_is(self, toggle: IFeatureToggle) -> None:
        states = [toggle.state_of(feature) for feature in (OFF, HALF, ON)]

        assert states == [ToggleState.OFF, ToggleState.ROLLOUT, ToggleState.ON]

    @pytest.mark.parametrize("subject_id", [None, "user-1", ""])
    def test_what_is_on_or_off_is_so_for_everybody(
        self, toggle: IFeatureToggle, subject_id: str | None
    ) -> None:
        assert toggle.is_enabled(ON, subject_id=subject_id) is True
        assert toggle.is_enabled(OFF, subject_id=subject_id) is False

    def test_a_rollout_includes_some_and_leaves_out_others(self, toggle: IFeatureToggle) -> None:
        included = sum(toggle.is_enabled(HALF, subject_id=each) for each in _SUBJECTS)

        assert len(_SUBJECTS) * 0.25 < included < len(_SUBJECTS) * 0.75

    def test_a_rollout_is_off_where_nobody_says_for_whom(self, toggle: IFeatureToggle) -> None:
        assert toggle.is_enabled(HALF) is False

    def test_one_subject_gets_the_same_answer_in_every_thread(self, toggle: IFeatureToggle) -> None:
        def answers(_: int) -> list[bool]:
            return [toggle.is_enabled(HALF, subject_id=each) for each in _SUBJECTS]

        with ThreadPoolExecutor(4) as pool:
            first, *others = pool.map(answers, range(8))

        assert all(each == first for each in others)

    def test_a_feature_that_does_not_exist_is_named(self, toggle: IFeatureToggle) -> None:
        with pytest.raises(ValueError, match="test-of"):
            toggle.is_enabled("test-of", subject_id="user-1")
        with pytest.raises(ValueError, match="test-of"):
            toggle.state_of("test-of")

    @pytest.mark.parametrize("feature", [OFF, HALF, ON])
    def test_an_id_that_is_no_text_is_refused(self, toggle: IFeatureToggle, feature: str) -> None:
        with pytest.raises(TypeError, match="subject_id = 7"):
            toggle.is_enabled(feature, subject_id=7)  # type: ignore[arg-type]  # the point
