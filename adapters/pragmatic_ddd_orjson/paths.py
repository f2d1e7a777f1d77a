"""Paths: where in an event something was refused, such as ``lines[2].price``."""

from collections.abc import Iterator

from cattrs import transform_error

from pragmatic_ddd_orjson.hooks import Entries, Tagged, UnfitError


def first_refusal(written: object) -> tuple[str, str] | None:
    """Return path and reason of the first value that was not written; None if there is none."""
    try:
        return next(_refusals(written, ""), None)
    except RecursionError:
        return None


def first_failure(error: Exception) -> tuple[str, str]:
    """Return path and reason of the first of what cattrs could not read."""
    failures: list[tuple[BaseException, bool]] = []

    def note(failure: BaseException, kind: type | None) -> str:
        failures.append((failure, kind is not None))
        return ""

    path = transform_error(error, "", note)[0].removeprefix(" @ ").removeprefix(".")
    failure, is_member = failures[0]
    if isinstance(failure, RecursionError):
        return "", str(failure)
    if isinstance(failure, UnfitError):
        return path, failure.reason
    if isinstance(failure, KeyError) and is_member:
        return path, "is missing"
    return path, f"its class refuses the values: {failure}"


def _refusals(written: object, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(written, UnfitError):
        yield path.removeprefix("."), written.reason
    elif isinstance(written, str) and not written.isascii():
        try:
            written.encode()
        except UnicodeEncodeError:
            yield path.removeprefix("."), f"{written!a:.60} has half of a surrogate pair"
    elif isinstance(written, list | dict):
        for segment, part in _parts(written):
            yield from _refusals(part, path + segment)


def _parts(written: list[object] | dict[object, object]) -> Iterator[tuple[str, object]]:
    if isinstance(written, list):
        for index, item in enumerate(written):
            yield f"[{index}]", item
    elif isinstance(written, Entries):
        for before, (key, item) in zip(written.keys_before, written.items(), strict=False):
            yield from ((f"[{before!a:.60}]", part) for part in (key, item))
    else:
        for name, item in written.items():
            yield "" if isinstance(written, Tagged) else f".{name}", item
