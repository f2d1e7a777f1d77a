import pytest

from pragmatic_ddd.errors import ConfigurationError
from pragmatic_ddd_relay import RelayApplication, load_application
from tests.adapters.relay.apps import TalkingLifecycle, a_relay

APPS = "tests.adapters.relay.apps"


def test_a_factory_makes_the_application() -> None:
    application = load_application(f"{APPS}:with_lifecycles")

    assert [repr(one) for one in application.lifecycles] == [
        repr(TalkingLifecycle("a")),
        repr(TalkingLifecycle("b")),
    ]


def test_a_factory_may_make_just_a_relay() -> None:
    assert load_application(f"{APPS}:just_a_relay").lifecycles == ()


def test_a_factory_may_belong_to_something_else() -> None:
    assert isinstance(load_application(f"{APPS}:Root.relay"), RelayApplication)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "expected module:factory, such as shop.relay:application"),
        ("shop.relay", "expected module:factory"),
        (":application", "expected module:factory"),
        ("shop.relay:", "expected module:factory"),
        ("shop/relay.py:application", "expected module:factory"),
        ("shop.relay:make()", "expected module:factory"),
        (f"{APPS}:missing", f"{APPS} has no missing"),
        (f"{APPS}:NOT_CALLABLE", "NOT_CALLABLE is 'text', not a function"),
        (f"{APPS}:raises", "it raised ZeroDivisionError: a bug in the composition root"),
        (f"{APPS}:leaves", "it raised SystemExit: 0"),
        (f"{APPS}:is_misconfigured", "OUTBOX_POLL_INTERVAL=1: expected a duration; OUTBOX_LEASE"),
        (f"{APPS}:returns_text", "it returned 'relay', not a RelayApplication or an OutboxRelay"),
        (
            f"{APPS}:has_a_lifecycle_without_an_end",
            "it raised TypeError: lifecycles: <object o",
        ),
        ("no_such_package.relay:make", "No module named 'no_such_package'"),
        (
            "tests.adapters.relay.broken_module:make",
            "ModuleNotFoundError: No module named 'a_library_that_is_not_installed'",
        ),
    ],
)
def test_what_makes_no_application_is_refused_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        load_application(text)

    (problem,) = caught.value.problems
    assert problem.startswith(f"--app {text}: ")
    assert reason in problem


def test_what_was_raised_is_the_cause() -> None:
    with pytest.raises(ConfigurationError) as caught:
        load_application(f"{APPS}:raises")

    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_something_without_start_is_no_lifecycle() -> None:
    class OnlyShutdown:
        def shutdown(self) -> None: ...

    with pytest.raises(TypeError, match=r"has no start\(\)"):
        RelayApplication(relay=a_relay(), lifecycles=[OnlyShutdown()])  # type: ignore[list-item]


def test_something_else_than_a_relay_is_refused() -> None:
    with pytest.raises(TypeError, match="relay"):
        RelayApplication(relay="relay")  # type: ignore[arg-type]
