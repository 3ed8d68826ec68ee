"""The dependencies of a recording: those known before it is made, and the imports of its ranks.

A recording may be used again as long as all of them are unchanged. Other dependencies, such as files that the program
reads but that are not listed as inputs, are unknown.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import platform
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path

from clue.errors import RecordError, TraceError
from clue.files import open_file, read_bytes
from clue.recording.launching import Launch
from clue.trace import TRACE_VERSION
from clue.trace.form import parse, read
from clue.trace.head import LONGEST_HEAD
from clue.trace.parts import Imported
from clue.trace.place import IMPORTS
from clue.units import count_of

#: Prefixes of variables that change how libraries or the interpreter compute, above all numbers of threads.
_COUNTING = ("OMP_", "GOMP_", "KMP_", "MKL_", "OPENBLAS_", "GOTO_", "BLIS_", "VECLIB_", "NUMEXPR_", "NUMBA_", "PYTHON")
#: Variables with these prefixes that change neither results nor speed.
_IDLE = {"PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX", "PYTHONUNBUFFERED", "PYTHONSTARTUP", "PYTHONIOENCODING"}
_ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Request:
    """A request for a recording.

    Attributes:
        launch: The program to record.
        inputs: Files whose content it depends on.
        environment: Names of variables whose values it depends on, in addition to those that libraries use.
    """

    launch: Launch
    inputs: tuple[Path, ...] = ()
    environment: tuple[str, ...] = ()

    @property
    def folder(self) -> Path:
        """The program's folder; files in it may move with it."""
        return self.launch.program.parent.resolve()

    @property
    def title(self) -> str:
        """The program with its arguments, in words."""
        words = (self.launch.program.name, *self.launch.arguments)
        return f"{' '.join(words)} on {count_of(self.launch.ranks)}"


@dataclass(frozen=True, slots=True)
class Facts:
    """The dependencies of a recording.

    Attributes:
        arguments: The program's arguments.
        program: Path of the program, relative to its folder.
        ranks: Number of ranks.
        files: Digests of the program, its inputs and the imported modules that are not installed packages, by path,
            which is relative to the program's folder for files inside it; ``""`` if the content is unknown.
        packages: Versions of the installed packages that it imports, by distribution.
        environment: Values of the variables that it depends on.
        computer: The computer's name.
        python: Version of Python.
        recorder: Digest of the recorder.
    """

    program: str
    arguments: tuple[str, ...]
    ranks: int
    files: Mapping[str, str]
    packages: Mapping[str, str]
    environment: Mapping[str, str]
    computer: str
    python: str
    recorder: str

    def to_json(self) -> str:
        """Encode as JSON."""
        return json.dumps(asdict(self), indent=1) + "\n"

    @classmethod
    def from_file(cls, file: Path) -> Facts:
        """Read a file with the result of :meth:`to_json`.

        Raises:
            OSError: If it cannot be read.
            TraceError: If its content is something else.
        """
        return read(cls, parse(read_bytes(file, most=LONGEST_HEAD), file), file)

    def with_imports(self, request: Request, trace: Path) -> Facts:
        """Return these facts with the imports that a recording states.

        Raises:
            RecordError: If it does not state any.
        """
        try:
            imports = read(Imported, parse(read_bytes(trace / IMPORTS, most=LONGEST_HEAD), IMPORTS), IMPORTS)
        except (OSError, TraceError) as error:
            raise RecordError(f"{trace / IMPORTS}: recording must say what was imported, got {error}") from None
        modules = {_name(request, Path(path)): digest for path, digest in imports.modules.items()}
        packages, alone = _versions(imports.packages)
        alone_ones = {_name(request, file): _digest(file) for file in alone}
        return replace(self, files={**modules, **alone_ones, **self.files}, packages={**packages, **self.packages})

    def same_run(self, other: Facts) -> bool:
        """Tell whether both have the same program, arguments and number of ranks, even if other facts have changed."""
        return (self.program, self.arguments, self.ranks) == (other.program, other.arguments, other.ranks)

    def joined(self, other: Facts) -> Facts:
        """Return these facts with the additional imports of another recording of the same program."""
        return replace(self, files={**other.files, **self.files}, packages={**other.packages, **self.packages})


def facts_now(request: Request) -> Facts:
    """Return the dependencies of a recording made now, as far as they are known in advance."""
    launch = request.launch
    files = (launch.program, *request.inputs)
    return Facts(
        program=launch.program.name,
        arguments=launch.arguments,
        ranks=launch.ranks,
        files={_name(request, file): _digest(file) for file in files},
        packages={"mpi4py": _version("mpi4py")},
        environment=_environment(request, os.environ),
        computer=platform.node(),
        python=platform.python_version(),
        recorder=_recorder(),
    )


def difference(request: Request, then: Facts, now: Facts) -> str:
    """Return one reason why a recording may not be used again, in words; ``""`` if it may.

    Args:
        request: The request for the recording.
        then: The dependencies of the recording.
        now: The dependencies of a recording made now.
    """
    return next(_differences(request, then, now), "")


def _differences(request: Request, then: Facts, now: Facts) -> Iterator[str]:
    for name in sorted(then.files.keys() | now.files.keys()):
        if said := _file_difference(request, name, then, now):
            yield said
    for name, version in sorted(then.packages.items()):
        current = _version(name)
        if current != version:
            yield f"{name} was {version} and is {current}" if current else f"{name} {version} is not installed now"
    for name in sorted(then.environment.keys() | now.environment.keys()):
        before, value = then.environment.get(name), now.environment.get(name)
        if before != value:
            yield f"{name} was {_shown(before)} and is {_shown(value)}"
    if then.computer != now.computer:
        yield f"it was recorded on {then.computer}"
    if then.python != now.python:
        yield f"Python was {then.python} and is {now.python}"
    if then.recorder != now.recorder:
        yield "clue records differently now"


def _file_difference(request: Request, name: str, then: Facts, now: Facts) -> str:
    short = Path(name).name
    if name not in then.files:
        return f"{short} was not an input"
    if then.files[name] == "":
        return f"{short} was written while it was recorded"
    current = now.files.get(name) or _digest(request.folder / name)
    if current == then.files[name]:
        return ""
    return f"{short} has changed" if current else f"{short} cannot be read any more"


def _name(request: Request, file: Path) -> str:
    """Return the path of a file, relative to the program's folder if it is inside."""
    path = file.absolute()
    for folder in (request.folder, request.launch.program.parent.absolute()):
        if path.is_relative_to(folder):
            return str(path.relative_to(folder))
    return str(path)  # links are not resolved: they may lead elsewhere later


def _digest(file: Path) -> str:
    digest = hashlib.sha256()
    try:
        with open_file(file) as content:
            while piece := content.read(1 << 20):
                digest.update(piece)
    except (OSError, ValueError):  # ValueError for an invalid name
        return ""
    return digest.hexdigest()


def _environment(request: Request, variables: Mapping[str, str]) -> dict[str, str]:
    counting = {name for name in variables if name.startswith(_COUNTING)} - _IDLE
    return {name: variables[name] for name in sorted(counting | set(request.environment)) if name in variables}


def _versions(packages: Mapping[str, str]) -> tuple[dict[str, str], list[Path]]:
    """Return versions by distribution, and the files of packages without a distribution."""
    homes = _homes()
    names = sorted({home for package in packages for home in homes.get(package, ())})
    alone = [Path(file) for package, file in packages.items() if package not in homes]
    return {name: _version(name) for name in names}, alone


@cache
def _homes() -> Mapping[str, list[str]]:
    """Return the distributions of each package, which takes a third of a second if many are installed."""
    homes = {package: list(names) for package, names in importlib.metadata.packages_distributions().items()}
    if sys.version_info < (3, 11):  # knows only packages declared in top_level.txt, which numpy, for one, does not have
        for distribution in importlib.metadata.distributions():
            modules = [file for file in distribution.files or () if file.suffix == ".py"]
            for package in {file.parts[0] if len(file.parts) > 1 else file.stem for file in modules}:
                homes.setdefault(package, []).append(distribution.metadata["Name"])
    return homes


def _version(distribution: str) -> str:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return ""


def _shown(value: str | None) -> str:
    return "not set" if value is None else repr(value)


@cache
def _recorder() -> str:
    """Return a digest of this recorder: its code, and the form of its traces."""
    digest = hashlib.sha256(str(TRACE_VERSION).encode())
    for source in recorder_sources():
        digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


def recorder_sources() -> list[Path]:
    """Return the files of the virtual layer that record, and the files that pack its parts of a trace."""
    layer, trace = _ROOT / "virtual_layer", _ROOT / "clue" / "trace"
    live = set((layer / "substitutes").rglob("*.py"))
    recording = {*layer.rglob("*.py"), *layer.rglob("*.cpp")} - live
    return sorted(recording) + sorted((trace / "parts").glob("*.py")) + [trace / "pack.py"]
