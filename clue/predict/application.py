"""Applications, the subjects of predictions: programs as users name them. Values only, used by configurations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from clue.skeleton.prediction import Measured

#: Placeholder for the number of ranks in the names of traces and inputs, and in arguments.
PLACEHOLDER = "{ranks}"
#: Placeholder for the name of the machine in the names of models that hold for a single machine.
MACHINE = "{machine}"


@dataclass(frozen=True, slots=True)
class Extrapolated:
    """A program whose traces are extrapolated from recordings of smaller sizes and numbers of ranks.

    Attributes:
        pattern: Names of the recordings; ``{size}`` and ``{ranks}`` in it stand for theirs.
        size: The size that is wanted.
        distributions: Call sites at which message sizes without a rule are drawn from the recorded ones.
    """

    pattern: str
    size: int
    distributions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Modelled:
    """A program predicted by a model fitted to its run times.

    Attributes:
        path: Path of the model; ``{machine}`` in it stands for the name of the machine.
        size: The size that is wanted.
    """

    path: str
    size: float


@dataclass(frozen=True, slots=True)
class Application:
    """A program that can be run, or replayed from a trace, at a number of ranks.

    Attributes:
        script: Python program to record or run, or ``None`` if only traces are given.
        arguments: Its arguments; ``{ranks}`` stands for the number of ranks.
        trace: Path of a recorded trace; ``{ranks}`` in it stands for the number of ranks. Preferred to recording.
        repeats: Paths of further recordings, which give the variation of its bursts.
        inputs: Files that the script reads; when one changes, it is recorded again.
        environment: Names of environment variables that the script reads; likewise.
        extrapolated: Source of extrapolated traces, if any. Also preferred to recording.
        modelled: Its model, where it has no traces.
        measured: Its time from a run of its skeleton on the machine in question. Preferred to everything else.
        place: Where a file asks for it, ``FILE:LINE:COLUMN``, for messages; empty if unknown.
    """

    script: Path | None = None
    arguments: tuple[str, ...] = ()
    trace: str | None = None
    repeats: tuple[str, ...] = ()
    inputs: tuple[Path, ...] = ()
    environment: tuple[str, ...] = ()
    extrapolated: Extrapolated | None = None
    modelled: Modelled | None = None
    measured: Measured | None = None
    place: str = field(default="", compare=False, repr=False)

    @property
    def file(self) -> Path:
        """Its script, its model, or the pattern of its traces."""
        if self.script is not None:
            return self.script
        if self.modelled is not None:
            return Path(self.modelled.path)
        return Path(self.trace or (self.extrapolated.pattern if self.extrapolated else ""))

    @property
    def name(self) -> str:
        """Its name: that of its file."""
        return self.file.name

    def files(self, ranks: Iterable[int], machines: Iterable[str] = ()) -> Iterator[Path]:
        """Yield the paths of its files at some numbers of ranks on some machines, by their names."""
        if self.script is not None:
            yield self.script
        if self.modelled is not None:
            yield from (Path(self.modelled.path.replace(MACHINE, name)) for name in machines)
        named = [*map(str, self.inputs), *self.repeats, *([] if self.trace is None else [self.trace])]
        yield from (Path(name.replace(PLACEHOLDER, str(each))) for each in ranks for name in named)


def names_apart(files: Iterable[Path]) -> dict[Path, str]:
    """Return a name of each file: its own, with as many folders as tell it from others of that name."""
    every = dict.fromkeys(files)

    def apart(file: Path) -> str:
        alike = [each.parts for each in every if each.name == file.name and each != file]
        words = 1
        while any(each[-words:] == file.parts[-words:] for each in alike):
            words += 1
        return "/".join(file.parts[-words:])

    return {each: apart(each) for each in every}


#: An application at a number of ranks.
Key = tuple[Application, int]
