"""What one scenario came to, and what is wrong with that."""

from collections import UserDict
from typing import Any

from tests.acceptance.faults.verdict import Verdict


class Figures(UserDict[str, Any]):
    """Figures by name, JSON values only; ``problems`` says in words what they should not be."""

    def __init__(self, scenario: str) -> None:
        super().__init__({"problems": []})
        self._scenario = scenario

    def complain(self, problem: str) -> None:
        self["problems"].append(f"{self._scenario}: {problem}")

    def expect(self, name: str, value: float) -> None:
        if self[name] != value:
            self.complain(f"{name} is {self[name]}, not {value:g}")

    def expect_at_most(self, name: str, most: float) -> None:
        if self[name] > most:
            self.complain(f"{name} is {self[name]}, more than {most:g}")

    def add_verdict(self, verdict: Verdict, *, kept_back: int = 0) -> None:
        """Take over what reached the broker, and complain of what breaks a promise.

        Args:
            verdict: Of the run.
            kept_back: How many events are not to reach it: dead ones, and what they block.
        """
        self["events"] = verdict.events
        self["duplicates"] = verdict.duplicates
        self["lost"] = verdict.lost - kept_back
        self["phantoms"] = verdict.phantoms
        self["overtaken"] = verdict.overtaken
        self["duplicates_outside_window"] = verdict.outside_window
        for name in ("lost", "phantoms", "overtaken", "duplicates_outside_window"):
            self.expect(name, 0)
