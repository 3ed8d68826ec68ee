"""A document on its way to a value: all that is wrong with it is found on one visit, and said together.

A reader makes a :class:`Reading` of its document, takes its form from it, adds what several keys say together, and then
raises everything that was found. Documents that it refers to are read within the same visit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path as FilePath

from clue.config.document import Document, Path
from clue.config.faults import AnyForm, Faults, validated

#: What is wrong with a form whose keys are right one by one: the path of each fault, and the rule with the value got.
Rules = Callable[[AnyForm], Iterable[tuple[Path, str]]]


@dataclass(frozen=True, slots=True)
class Reading:
    """A document that is being read.

    Attributes:
        document: What it says.
        base: Folder that the relative paths in it start from.
        faults: Takes what is wrong with it.
    """

    document: Document
    base: FilePath = field(default_factory=FilePath)
    faults: Faults = field(default_factory=Faults)

    def fault(self, path: Path, rule: str, *, of_key: bool = False) -> None:
        """Add a fault of the value at a path, or of its key; the rule ends with the value got."""
        self.faults.add(self.document, path, rule, of_key=of_key)

    def form(self, form: type[AnyForm], rules: Rules[AnyForm] | None = None) -> AnyForm | None:
        """Return the document in its form; ``None`` if it is not in that form, which is then among the faults.

        Args:
            form: The form.
            rules: What several keys say together; asked only where the document is in the form.
        """
        found = validated(form, self.document, self.faults)
        if found is not None and rules is not None:
            for path, rule in rules(found):
                self.fault(path, rule)
        return found

    def checked(self, form: type[AnyForm], rules: Rules[AnyForm] | None = None) -> AnyForm:
        """Return the document in its form, as :meth:`form`.

        Raises:
            ConfigError: With everything that is wrong with it.
        """
        found = self.form(form, rules)
        self.check()
        assert found is not None
        return found

    def check(self) -> None:
        """Raise everything that was found, if anything.

        Raises:
            ConfigError: With all faults.
        """
        self.faults.check()

    def of(self, document: Document) -> Reading:
        """Return the reading of another document within the same visit."""
        return replace(self, document=document)
