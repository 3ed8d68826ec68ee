"""Starting a program under mpiexec with the virtual layer inside, watching it, and ending it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from pathlib import Path

from clue.children import finding_clue, mpi_of, open_mpi_options, running, standard_input
from clue.errors import RecordError, UsageError
from clue.native import Library, NoLibraryError, Source
from clue.programs import check_program, program_name, program_title
from clue.units import is_count

#: Callback for progress, in words; it never gets the program's own output.
Progress = Callable[[str], None]
#: Variables that make the ranks of one computer listen only on the loopback device, for MPICH's two network layers, UCX
#: and libfabric. MPICH's mpiexec listens at all addresses in any case, and so does Open MPI (5.0.11), which has no
#: Spawn without TCP.
_LOOPBACK = {"UCX_NET_DEVICES": "lo", "FI_TCP_IFACE": "lo"}
#: Variables from which mpiexec takes computers of a batch system or a file, without an option on its command line.
_ELSEWHERE = (
    "SLURM_JOB_ID", "PBS_JOBID", "PBS_NODEFILE", "LSB_JOBID", "LOAD_STEP_ID", "PE_HOSTFILE", "COBALT_JOBID", "FLUX_URI",
    "HYDRA_HOST_FILE", "HYDRA_RMK",
)  # fmt: skip
_UP = 1
#: The library that looks up call paths in the virtual layer.
PATHS = Library(Source("paths", Path(__file__).parents[2] / "virtual_layer" / "paths.cpp"), {})
#: Environment variable that names it there.
_PATHS = "VIRTUAL_LAYER_PATHS"
#: Number of checks of a program within the time that it may spend without completing a call.
_LOOKS = 10


def silent(_message: str) -> None:
    """Ignore the message."""


@dataclass(frozen=True, slots=True)
class Launch:
    """A program to be started.

    Attributes:
        program: Path of a Python script; ``-m`` or ``-c``: the first argument is a module, or code.
        arguments: Its arguments.
        ranks: Number of MPI processes.
    """

    program: Path
    arguments: tuple[str, ...]
    ranks: int

    @property
    def title(self) -> str:
        """The program in messages: a path, a module or ``code``."""
        return program_title(self._command)

    @property
    def name(self) -> str:
        """The same without the folders of a path."""
        return program_name(self._command)

    @property
    def _command(self) -> tuple[str, ...]:
        return (str(self.program), *self.arguments)

    def check(self) -> None:
        """Check what can be checked before starting.

        Raises:
            UsageError: If the program does not exist or there are no ranks.
        """
        check_program(self._command)
        if not is_count(self.ranks):
            raise UsageError(f"{self.title}: ranks must be an integer > 0, got {self.ranks!r}")


def words_of(name: str, words: Iterable[str | os.PathLike[str]]) -> tuple[str, ...]:
    """Return words of a command line.

    Args:
        name: What they are, for messages.
        words: The words, each of them text or a path.

    Raises:
        UsageError: If they are no list but one text, which would be taken letter by letter, or one of them is something
            else.
    """
    if isinstance(words, str | os.PathLike):
        raise UsageError(f"{name} must be a list of words, got {words!r}: put each word into the list")
    if not isinstance(words, Iterable):
        raise UsageError(f"{name} must be a list of words, got {words!r}")
    checked = []
    for word in words:
        text = os.fspath(word) if isinstance(word, os.PathLike) else word
        if not isinstance(text, str):
            raise UsageError(f"{name} must be a list of words, got {text!r} among them: write it as text")
        checked.append(text)
    return tuple(checked)


@dataclass(frozen=True, slots=True)
class Ending:
    """How mpiexec ended.

    Attributes:
        status: Its exit status, or ``None`` if it was stopped.
        rule: The rule that the program broke, if it was stopped for this reason; otherwise ``""``.
        seconds: How long it took.
    """

    status: int | None
    rule: str = ""
    seconds: float = 0.0


class TimeLimits:
    """Time limits of a program that is recorded.

    Args:
        timeout: Total limit, seconds.
        limit: Limit without any sign of life, seconds.
        sign: Returns a value that changes when the program makes an MPI call.

    Raises:
        UsageError: If a limit is no number above 0.
    """

    def __init__(self, timeout: float | None, limit: float | None, sign: Callable[[], object]) -> None:
        for name, seconds in (("timeout", timeout), ("limit", limit)):
            if seconds is not None and not (isinstance(seconds, Real) and seconds > 0):
                raise UsageError(f"{name} must be a number of seconds above 0, or None, got {seconds!r}")
        self._timeout, self._limit, self._sign = timeout, limit, sign
        self._began = self._alive = time.monotonic()
        self._seen = sign()

    @property
    def pause(self) -> float | None:
        """Seconds until the next check; ``None`` if there is none."""
        left = [] if self._timeout is None else [self._began + self._timeout - time.monotonic()]
        return min([*left, *([] if self._limit is None else [self._limit / _LOOKS])], default=None)

    @property
    def seconds(self) -> float:
        """Seconds since the program was started."""
        return time.monotonic() - self._began

    def exceeded(self) -> str:
        """Return the rule that the program has broken, or ``""`` as long as it may continue."""
        now = time.monotonic()
        seen = self._sign()
        if seen != self._seen:
            self._seen, self._alive = seen, now
        if self._timeout is not None and now >= self._began + self._timeout:
            return f"end within {self._timeout:g} s"
        if self._limit is not None and now >= self._alive + self._limit:
            return f"end an MPI call on some rank every {self._limit:g} s"
        return ""


def command_of(launch: Launch, target: Path, mpiexec: Sequence[str] | None, shown: Path | None = None) -> list[str]:
    """Return the command that records a program.

    Args:
        launch: The program.
        target: Folder of the trace.
        mpiexec: Words of the command that starts MPI programs, or ``None`` for the one found.
        shown: The folder's name in messages, if it will be moved there.

    Raises:
        RecordError: If there is no mpiexec.
    """
    # The code that opens the trace shows its notes, once. It also packs what was recorded here: it has numpy loaded.
    unpacked = ["--unpacked"] if _is_here(os.environ, mpiexec) else []
    layer = [sys.executable, "-m", "virtual_layer", "-q", *unpacked, "-o", str(target.resolve())]
    layer += [] if shown is None else ["--as", str(shown.resolve())]
    return [*_launcher(mpiexec, launch.ranks), *layer, str(launch.program), *launch.arguments]


def find_mpiexec() -> str:
    """Return the mpiexec beside this Python, or the one on the search path.

    Raises:
        RecordError: If there is none.
    """
    beside = Path(sys.executable).parent / "mpiexec"
    found = str(beside) if os.access(beside, os.X_OK) else shutil.which("mpiexec") or shutil.which("mpirun")
    if found is None:
        raise RecordError('mpiexec must be installed to record programs, got none: pip install "clue[mpi]" brings one')
    return found


def _launcher(mpiexec: Sequence[str] | None, ranks: int) -> list[str]:
    words = [find_mpiexec()] if mpiexec is None else list(words_of("mpiexec", mpiexec))
    if not words or shutil.which(words[0]) is None:
        got = words[0] if words else "mpiexec"
        raise RecordError(f"{got}: mpiexec must be a command that can be run, got no such command")
    options = open_mpi_options() if mpi_of(words[0]) == "openmpi" else []
    return [*words, *options, "-n", str(ranks)]


def environment_of(variables: Mapping[str, str], mpiexec: Sequence[str] | None) -> dict[str, str]:
    """Return the environment of mpiexec: if all ranks are on this computer, they listen only on loopback."""
    here = _is_here(variables, mpiexec) and _has_loopback()
    return finding_clue({**(_LOOPBACK | _compiled(variables) if here else {}), **variables})


def _is_here(variables: Mapping[str, str], mpiexec: Sequence[str] | None) -> bool:
    """Tell whether all ranks are on this computer."""
    return mpiexec is None and not any(name in variables for name in _ELSEWHERE)


def _compiled(variables: Mapping[str, str]) -> dict[str, str]:
    """Return the variable that names the library for call paths, if there is one, so that ranks need not compile it.

    The library is for the processor of this computer.
    """
    if _PATHS in variables or sys.version_info < (3, 11):
        return {}
    try:
        return {_PATHS: str(PATHS.file())}
    except NoLibraryError:
        return {}


def _has_loopback() -> bool:
    try:
        return bool(int(Path("/sys/class/net/lo/flags").read_text(), 16) & _UP)
    except (OSError, ValueError):
        return False


def run(command: Sequence[str], environment: Mapping[str, str], limits: TimeLimits, stdin: int | None = None) -> Ending:
    """Run a command with its output on standard error; stop it if it exceeds a limit.

    Args:
        command: Its words.
        environment: Its environment variables.
        limits: Limits of its time.
        stdin: Its standard input, as for :class:`subprocess.Popen`; that of this process if not given.
    """
    with running(command, stdin=standard_input(stdin), stdout=_standard_error(), env=dict(environment)) as process:
        while True:
            try:
                return Ending(process.wait(limits.pause), seconds=limits.seconds)
            except subprocess.TimeoutExpired:
                if rule := limits.exceeded():
                    return Ending(None, rule, limits.seconds)


def _standard_error() -> int:
    try:
        return sys.__stderr__.fileno() if sys.__stderr__ is not None else 2
    except (OSError, ValueError):
        return 2
