"""Conversion of a document to a value: one pass finds all faults, which are then reported together.

A reader makes a :class:`Reading` of its document, gets its form from it, adds faults of rules over several keys, and
then raises all faults. Documents to which it refers are read in the same pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path as FilePath
from typing import NamedTuple, TypeVar, cast

from clue.config.document import Document, Path
from clue.config.faults import AnyForm, Faults, validated

#: Rules over several keys of a form: yield the path of each fault, and the rule with the value got.
Rules = Callable[[AnyForm], Iterable[tuple[Path, str]]]
Made = TypeVar("Made")


class Kept(NamedTuple):
    """A result built from a part of a document, and the part."""

    of: object
    made: object


@dataclass(frozen=True, slots=True)
class Reading:
    """A document that is being read.

    Attributes:
        document: Its contents.
        base: Base directory of its relative paths.
        faults: Collects its faults.
        kept: Results that earlier readings of the same document, with other figures, built from its unchanged parts.
    """

    document: Document
    base: FilePath = field(default_factory=FilePath)
    faults: Faults = field(default_factory=Faults)
    kept: dict[object, Kept] = field(default_factory=dict)

    def fault(self, path: Path, rule: str, *, of_key: bool = False) -> None:
        """Add a fault of the value at a path, or of its key; the rule ends with the value got."""
        self.faults.add(self.document, path, rule, of_key=of_key)

    def place(self, path: Path, *, of_key: bool = False) -> str:
        """Return where the value at a path, or its key, is written, or what is nearest to it: ``FILE:LINE:COLUMN``."""
        return self.document.nearest(path)[0].place(of_key=of_key)

    def form(self, form: type[AnyForm], rules: Rules[AnyForm] | None = None) -> AnyForm | None:
        """Return the document in its form, or add its faults and return ``None``.

        Args:
            form: The form.
            rules: Rules over several keys; applied only if every key is valid.
        """
        found = validated(form, self.document, self.faults)
        if found is not None and rules is not None:
            for path, rule in rules(found):
                self.fault(path, rule)
        return found

    def checked(self, form: type[AnyForm], rules: Rules[AnyForm] | None = None) -> AnyForm:
        """Return the document in its form, as :meth:`form`.

        Raises:
            ConfigError: With all faults of the document.
        """
        found = self.form(form, rules)
        self.check()
        assert found is not None
        return found

    def check(self) -> None:
        """Raise all faults found, if any.

        Raises:
            ConfigError: With all faults.
        """
        self.faults.check()

    def made(self, what: object, of: object, make: Callable[[], Made]) -> Made:
        """Return the result built from a part of the document: the earlier one, if the part is unchanged and was valid.

        Args:
            what: The kind of result, and the part that it is built from.
            of: Everything that it is built from, for comparison.
            make: Builds it; faults of the part are then among the faults.
        """
        known = self.kept.get(what)
        if known is not None and known.of == of:
            return cast(Made, known.made)
        before = len(self.faults)
        made = make()
        if made is not None and len(self.faults) == before:
            self.kept[what] = Kept(of, made)
        return made

    def of(self, document: Document) -> Reading:
        """Return the reading of another document in the same pass."""
        return replace(self, document=document)
