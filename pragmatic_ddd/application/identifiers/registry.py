"""One generator for each sequence, so that all parts of a process share what it has reserved."""

import datetime as dt
from collections.abc import Mapping

import attrs

from pragmatic_ddd.application.arguments import check_type, implements
from pragmatic_ddd.application.identifiers.segments import SegmentIdGenerator
from pragmatic_ddd.errors import UnknownIdSequenceError
from pragmatic_ddd.ports.identifiers import IIdSegmentAllocator


@attrs.frozen
class IdGeneratorRegistry:
    """Has the generators of the sequences that it was told of.

    Attributes:
        allocator: Where segments are reserved.
        segment_sizes: How many ids of each sequence are reserved at once, by its name.
        patience: How long an id is waited for when none is left.

    Raises:
        TypeError: Something else was given than is asked for.
        ValueError: A name is blank, or a size below 1.
    """

    allocator: IIdSegmentAllocator = attrs.field(validator=implements(IIdSegmentAllocator))
    segment_sizes: Mapping[str, int]
    patience: dt.timedelta = attrs.field(default=dt.timedelta(seconds=5), kw_only=True)
    _generators: Mapping[str, SegmentIdGenerator] = attrs.field(init=False, repr=False)

    @_generators.default
    def _made(self) -> Mapping[str, SegmentIdGenerator]:
        check_type("segment_sizes", self.segment_sizes, Mapping)
        return {
            sequence: SegmentIdGenerator(
                allocator=self.allocator,
                sequence=sequence,
                segment_size=size,
                patience=self.patience,
            )
            for sequence, size in self.segment_sizes.items()
        }

    def generator(self, sequence: str) -> SegmentIdGenerator:
        """Return the generator of a sequence, always the same one.

        Raises:
            UnknownIdSequenceError: The registry was not told of it; names those that it has.
            TypeError: The name is no text.
        """
        check_type("sequence", sequence, str)
        found = self._generators.get(sequence)
        if found is None:
            known = ", ".join(map(repr, sorted(self._generators))) or "none"
            raise UnknownIdSequenceError(sequence, f"the sequences of this registry are {known}")
        return found

    def reserve(self) -> None:
        """Reserve the first segment of every sequence: at start-up, before any unit of work.

        Raises:
            UnknownIdSequenceError: The allocator does not know one of them.
            IdAllocationError: The database failed; sequences before that one are ready.
        """
        for generator in self._generators.values():
            generator.reserve()
