"""Value objects as JSON: JSONB on PostgreSQL, and text elsewhere, which compares by value, too.

    values = ValueCodecs()                                   # of pragmatic_ddd_orjson
    sa.Column("address", ValueObjectType(values.codec(Address)))
    sa.Column("prices", ValueObjectType(values.codec(tuple[Money, ...])), nullable=False)

Text has sorted keys and no spaces, so that equal values are equal texts. MySQL's type JSON would
never be equal to a text, and MariaDB's is one.
"""

import json
import typing
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

from pragmatic_ddd.application.arguments import check_type
from pragmatic_ddd.ports.value_codec import ValueCodec
from pragmatic_ddd_sqlalchemy.errors import ColumnValueError
from pragmatic_ddd_sqlalchemy.table import long_text

T = TypeVar("T")

# From here on, JSONB gives a float without its point back: as an integer.
_WITHOUT_POINT = 1e16


def json_document() -> sa.types.TypeEngine[Any]:
    """Return what is stored, for a migration: JSONB on PostgreSQL, else text without an end."""
    return long_text().with_variant(postgresql.JSONB(none_as_null=True), "postgresql")


class ValueObjectType(sa.types.TypeDecorator[T]):
    """Holds values that never change, such as frozen attrs classes, or tuples of them.

    An attribute is saved when another value is assigned to it. A change inside a value would be
    seen by nobody and lost, so types that can be changed in place, such as lists, are refused;
    what stands in the fields of a frozen class is not looked into.
    ``None`` is NULL. Parts are found by ``column["currency"].as_string() == "EUR"``.

    Args:
        codec: How the values are written and read.

    Raises:
        TypeError: It is no codec; or its values can be changed, or are not equal by value.
    """

    impl = sa.JSON
    cache_ok = True

    def __init__(self, codec: ValueCodec[T]) -> None:
        check_type("codec", codec, ValueCodec)
        _check_never_changed(codec.kind)
        super().__init__()
        self.codec = codec

    def load_dialect_impl(self, dialect: sa.Dialect) -> sa.types.TypeEngine[Any]:
        return json_document()

    def process_bind_param(self, value: T | None, dialect: sa.Dialect) -> Any:  # noqa: ANN401  # JSON, or its text
        if value is None:
            return None
        written = self._written(value, dialect)
        return written if dialect.name == "postgresql" else _text(written)

    def process_result_value(self, value: Any, dialect: sa.Dialect) -> T | None:  # noqa: ANN401  # as above
        if value is None:
            return None
        try:
            return self.codec.from_json(
                value if dialect.name == "postgresql" else json.loads(value)
            )
        except ValueError as error:
            raise self._refusal(f"what is stored is none: {error}") from error

    def literal_processor(self, dialect: sa.Dialect) -> Callable[[Any], str]:
        write = sa.String().dialect_impl(dialect).literal_processor(dialect)
        assert write is not None  # noqa: S101  # every dialect can write text
        return lambda value: write(_text(self._written(value, dialect)))

    def __repr__(self) -> str:
        """Say what is stored, as Alembic writes it down: a migration needs no class of today."""
        return "json_document()"

    def _written(self, value: T, dialect: sa.Dialect) -> object:
        try:
            written = self.codec.to_json(value)
        except ValueError as error:
            raise self._refusal(str(error)) from error
        problem = next(_problems(written, in_jsonb=dialect.name == "postgresql"), None)
        if problem is not None:
            raise self._refusal(problem)
        return written

    def _refusal(self, reason: str) -> ColumnValueError:
        return ColumnValueError(_name(self.codec.kind), reason)


def _text(written: object) -> str:
    return json.dumps(written, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def _name(kind: Any) -> str:  # noqa: ANN401  # a class, or an annotation
    return kind.__qualname__ if isinstance(kind, type) and not typing.get_args(kind) else str(kind)


def _check_never_changed(kind: Any) -> None:  # noqa: ANN401  # as above
    owner = typing.get_origin(kind) or kind
    if getattr(owner, "__hash__", None) is None:
        raise TypeError(
            f"codec: a {_name(kind)} can be changed in place, and nobody would save that: use "
            "@attrs.frozen classes, and tuple[...] for lists of them"
        )
    if getattr(owner, "__eq__", None) is object.__eq__:
        raise TypeError(f"codec: a {_name(kind)} is not equal by value: use @attrs.frozen")
    for argument in typing.get_args(kind):
        if argument not in (Ellipsis, type(None)):
            _check_never_changed(argument)


def _problems(written: object, *, in_jsonb: bool) -> Iterator[str]:
    """Yield what JSON, or JSONB, would not give back as it is."""
    if isinstance(written, str):
        yield from _problems_of_text(written, in_jsonb=in_jsonb)
    elif isinstance(written, float):
        if not abs(written) < (_WITHOUT_POINT if in_jsonb else float("inf")):
            yield f"{written!r} would come back as another number"
    elif isinstance(written, list | tuple):
        for item in written:
            yield from _problems(item, in_jsonb=in_jsonb)
    elif isinstance(written, dict):
        for key, item in written.items():
            if not isinstance(key, str):
                yield f"{key!r:.60} is a key that JSON does not have"
            yield from _problems(key, in_jsonb=in_jsonb)
            yield from _problems(item, in_jsonb=in_jsonb)
    elif not isinstance(written, int | None):
        yield f"{written!r:.60} is nothing that JSON has"


def _problems_of_text(text: str, *, in_jsonb: bool) -> Iterator[str]:
    if in_jsonb and "\0" in text:
        yield f"{text!r:.60} has a NUL, which JSONB does not hold"
    if not text.isascii() and any("\ud800" <= each <= "\udfff" for each in text):
        yield f"{text!a:.60} has half of a surrogate pair"
