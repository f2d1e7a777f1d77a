"""A statement of the outbox: compiled once, and handed to the driver as it is.

What SQLAlchemy does for each execution of a ``text()``, looking up its compiled form and
processing its parameters, costs as much as all else that it does for it, and changes nothing here.
Events of the engine and translation of errors are the same.
"""

from collections.abc import Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import attrs
import sqlalchemy as sa

_NOTHING: Mapping[str, object] = {}


@attrs.frozen(eq=False)
class _Compiled:
    """A statement as a driver takes it.

    Attributes:
        text: With the placeholders of the driver.
        names: The parameters in the order of these; ``None`` where the driver knows them by name.
    """

    text: str
    names: Sequence[str] | None

    @classmethod
    def of(cls, text: str, dialect: sa.Dialect) -> "_Compiled":
        compiled = sa.text(text).compile(dialect=dialect)
        positions: Sequence[str] | None = getattr(compiled, "positiontup", None)
        return cls(str(compiled), positions)

    def given(self, parameters: Mapping[str, object]) -> Any:  # noqa: ANN401  # what drivers take
        if self.names is None:
            return parameters
        return tuple(parameters[name] for name in self.names)


@attrs.frozen(eq=False)
class Sql:
    """One statement, for whatever driver of its kind of database.

    Attributes:
        text: With parameters such as ``:batch``.
    """

    text: str
    _compiled: "WeakKeyDictionary[sa.Dialect, _Compiled]" = attrs.field(
        factory=WeakKeyDictionary, init=False, repr=False
    )

    def execute(
        self, connection: sa.Connection, parameters: Mapping[str, object] = _NOTHING
    ) -> "sa.CursorResult[*tuple[Any, ...]]":
        """Execute it with one set of parameters."""
        compiled = self._for(connection.dialect)
        return connection.exec_driver_sql(compiled.text, compiled.given(parameters))

    def execute_many(
        self, connection: sa.Connection, parameters: Sequence[Mapping[str, object]]
    ) -> None:
        """Execute it with many sets of parameters."""
        compiled = self._for(connection.dialect)
        connection.exec_driver_sql(compiled.text, [compiled.given(one) for one in parameters])

    def text_for(self, dialect: sa.Dialect) -> str:
        """Return what the driver of that dialect is given."""
        return self._for(dialect).text

    def _for(self, dialect: sa.Dialect) -> _Compiled:
        compiled = self._compiled.get(dialect)
        if compiled is None:
            compiled = self._compiled[dialect] = _Compiled.of(self.text, dialect)
        return compiled
