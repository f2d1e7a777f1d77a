"""What the relay process runs: a relay, and what must live around it; made by a factory."""

import importlib
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter

import attrs

from pragmatic_ddd.application.arguments import of_type, shown
from pragmatic_ddd.application.outbox import OutboxRelay
from pragmatic_ddd.errors import ConfigurationError, PragmaticError
from pragmatic_ddd.ports import ILifecycle
from pragmatic_ddd_relay.sentences import sentence


def _as_tuple(lifecycles: Iterable[ILifecycle]) -> tuple[ILifecycle, ...]:
    return tuple(lifecycles)


@attrs.frozen(kw_only=True)
class RelayApplication:
    """A relay, and what it needs alive.

    Attributes:
        relay: Not started: the service runs it.
        lifecycles: Things with ``start()`` and ``shutdown()``, such as the event manager. Started
            in this order before the relay runs, shut down in the other order after it has ended.
    """

    relay: OutboxRelay = attrs.field(validator=of_type(OutboxRelay))
    lifecycles: Sequence[ILifecycle] = attrs.field(default=(), converter=_as_tuple)

    @lifecycles.validator
    def _check_lifecycles(self, _: object, value: Sequence[object]) -> None:
        for one in value:
            for method in ("start", "shutdown"):
                if not callable(getattr(one, method, None)):
                    raise TypeError(f"lifecycles: {shown(one)} has no {method}()")


def load_application(text: str) -> RelayApplication:
    """Import a module, call its factory, and return what it makes.

    Args:
        text: ``module:factory``, such as ``shop.relay:application``; the factory takes no
            arguments and returns a ``RelayApplication`` or an ``OutboxRelay``.

    Raises:
        ConfigurationError: The text is no ``module:factory``, the module cannot be imported, it
            has no such factory, or that raises or returns something else; ``__cause__`` is what
            the module or the factory raised, if it was that.
    """
    module, colon, name = text.partition(":")
    if not colon or not all(part.isidentifier() for part in [*module.split("."), *name.split(".")]):
        raise _problem(text, "expected module:factory, such as shop.relay:application")
    made = _call(text, _find(text, module, name))
    if isinstance(made, OutboxRelay):
        return RelayApplication(relay=made)
    if not isinstance(made, RelayApplication):
        raise _problem(text, f"it returned {shown(made)}, not a RelayApplication or an OutboxRelay")
    return made


def _find(text: str, module: str, name: str) -> Callable[[], object]:
    try:
        imported = importlib.import_module(module)
    except PragmaticError as error:
        raise _problem(text, sentence(error)) from error
    except ModuleNotFoundError as error:
        cause = None if _is_missing(module, error) else error
        raise _problem(text, f"cannot import {module}: {sentence(error)}") from cause
    except (Exception, SystemExit) as error:
        raise _problem(text, f"cannot import {module}: {sentence(error)}") from error
    try:
        factory: object = attrgetter(name)(imported)
    except AttributeError:
        raise _problem(text, f"{module} has no {name}") from None
    if not callable(factory):
        raise _problem(text, f"{name} is {factory!r}, not a function that makes the application")
    return factory


def _is_missing(module: str, error: ModuleNotFoundError) -> bool:
    """Say whether the module itself, or a package that it is in, does not exist."""
    return f"{module}.".startswith(f"{error.name}.")


def _call(text: str, factory: Callable[[], object]) -> object:
    try:
        return factory()
    except PragmaticError as error:
        raise _problem(text, sentence(error)) from error
    except (Exception, SystemExit) as error:
        raise _problem(text, f"it raised {sentence(error)}") from error


def _problem(text: str, reason: str) -> ConfigurationError:
    return ConfigurationError([f"--app {text}: {reason}"])
