"""Recording a program from outside: starts mpiexec, waits, and opens the trace. Prints nothing.

What happens inside the program's processes is :mod:`virtual_layer`.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from clue.children import finding_clue, running, standard_input
from clue.errors import NEVER_CALLED_MPI, RecordError, TraceError, UsageError
from clue.trace import TRACE_VERSION, Trace

#: Told of what happens, in words; never of the program's own output.
Progress = Callable[[str], None]


def _silent(_message: str) -> None:
    pass


@dataclass(frozen=True, slots=True)
class Launch:
    """A program to be started.

    Attributes:
        program: Path of a Python script.
        arguments: Its arguments.
        ranks: Number of MPI processes.
    """

    program: Path
    arguments: tuple[str, ...]
    ranks: int

    def check(self) -> None:
        """Check what can be checked before starting.

        Raises:
            UsageError: If the program does not exist or there are no ranks.
        """
        if not self.program.is_file():
            raise UsageError(f"{self.program}: program must exist, got no such file")
        if self.ranks < 1:
            raise UsageError(f"{self.program}: ranks must be an integer > 0, got {self.ranks}")


def record(
    program: Path,
    arguments: Sequence[str],
    ranks: int,
    target: Path,
    *,
    mpiexec: str | None = None,
    timeout: float | None = None,
    progress: Progress = _silent,
) -> Trace:
    """Run a program on so many ranks, record it, and return its trace.

    The program's own output goes to standard error.

    Args:
        program: Path of the script.
        arguments: Its arguments.
        ranks: Number of MPI processes.
        target: Folder of the trace; an earlier trace there is replaced.
        mpiexec: Command that starts MPI programs, with options; found by itself if not given.
        timeout: Seconds after which the program is stopped, or ``None``.
        progress: Told what happens.

    Raises:
        UsageError: If the program does not exist, or the target is something else than a trace.
        RecordError: If there is no mpiexec, or the program fails, never calls MPI or runs out of time.
    """
    launch = Launch(Path(program), tuple(arguments), ranks)
    launch.check()
    target = Path(target)
    _check_target(target)
    before = _identity(target)
    command = [*_launcher(mpiexec, ranks), sys.executable, "-m", "virtual_layer", "-o", str(target.resolve())]
    progress(f"recording {launch.program.name} on {ranks} ranks")
    status = _run([*command, str(launch.program), *launch.arguments], timeout)
    if _identity(target) == before:
        raise RecordError(_never_recorded(launch, status))
    if status is None:
        raise RecordError(f"{program}: program must end within {timeout:g} s, got none: it was stopped")
    try:
        trace = Trace.open(target)
    except TraceError as error:
        ending = f"{program}: program must end well, got exit status {status}: " if status else ""
        raise RecordError(f"{ending}{error}") from None
    if status != 0:
        raise RecordError(f"{program}: program must end well, got exit status {status} after all ranks had ended")
    together = sum(each.world == 0 for each in trace.head.rank_heads)
    if together != ranks:
        raise RecordError(
            f"{program}: MPI must see all {ranks} processes that {command[0]} started, got {together} together: "
            "use the mpiexec of the MPI that mpi4py uses (--mpiexec)"
        )
    return trace


def find_mpiexec() -> str:
    """Return the mpiexec beside this Python, or that of the search path.

    Raises:
        RecordError: If there is none.
    """
    beside = Path(sys.executable).parent / "mpiexec"
    found = str(beside) if os.access(beside, os.X_OK) else shutil.which("mpiexec") or shutil.which("mpirun")
    if found is None:
        raise RecordError('mpiexec must be installed to record programs, got none: pip install "clue[mpi]" brings one')
    return found


def _launcher(mpiexec: str | None, ranks: int) -> list[str]:
    words = mpiexec.split() if mpiexec is not None else [find_mpiexec()]
    if shutil.which(words[0]) is None:
        raise RecordError(f"{words[0]}: mpiexec must be a command that can be run, got no such command")
    return [*words, *_open_mpi_options(words[0]), "-n", str(ranks)]


def _open_mpi_options(mpiexec: str) -> list[str]:
    """Return what Open MPI needs to start more ranks than cores, and to run as root."""
    answer = subprocess.run([mpiexec, "--version"], capture_output=True, text=True, check=False).stdout
    if "Open MPI" not in answer and "OpenRTE" not in answer:
        return []
    return ["--oversubscribe", *(["--allow-run-as-root"] if os.geteuid() == 0 else [])]


def _run(command: Sequence[str], timeout: float | None) -> int | None:
    """Run a command with its output on standard error; returns its status, or ``None`` if it ran out of time."""
    environment = finding_clue(os.environ)
    with running(command, stdin=standard_input(), stdout=_standard_error(), env=environment) as process:
        try:
            return process.wait(timeout)
        except subprocess.TimeoutExpired:
            return None


def _standard_error() -> int:
    try:
        return sys.__stderr__.fileno() if sys.__stderr__ is not None else 2
    except (OSError, ValueError):
        return 2


def _check_target(target: Path) -> None:
    if target.suffix == ".zip":
        raise UsageError(f"{target}: trace must be recorded into a folder, got a .zip: convert it afterwards")
    if not target.exists():
        return
    is_trace = target.is_dir() and (
        (target / "head.json").exists() or (target / "parts").exists() or not any(target.iterdir())
    )
    if not is_trace:
        raise UsageError(f"{target}: trace must be a new folder or replace a trace, got something else there")


def _identity(target: Path) -> tuple[int, int] | None:
    """Return what changes when a folder is made anew."""
    try:
        facts = target.stat()
    except OSError:
        return None
    return facts.st_ino, facts.st_mtime_ns


def _never_recorded(launch: Launch, status: int | None) -> str:
    rule = f"{launch.program}: program must initialise MPI by mpi4py (import mpi4py.MPI)"
    if status in (0, NEVER_CALLED_MPI):
        return f"{rule}, got none on any of {launch.ranks} ranks"
    if status is None:
        return f"{rule}, got none before it ran out of time"
    return f"{rule} and end well, got exit status {status} before that: nothing was recorded"


def cache_folder() -> Path:
    """Return where recorded traces are kept: ``CLUE_CACHE``, or ``clue/traces`` in the user's cache."""
    named = os.environ.get("CLUE_CACHE")
    if named:
        return Path(named)
    root = os.environ.get("XDG_CACHE_HOME")
    return (Path(root) if root else Path.home() / ".cache") / "clue" / "traces"


def cached_trace(
    program: Path,
    arguments: Sequence[str],
    ranks: int,
    cache: Path | None = None,
    *,
    mpiexec: str | None = None,
    timeout: float | None = None,
    progress: Progress = _silent,
) -> Trace:
    """Return the trace of a program, recorded now unless it was recorded before as it is now.

    What counts is the content of the script and of the Python files in its folder (it may import them), the
    arguments, the number of ranks, the computer and the versions of Python, mpi4py and the trace format. Files
    that the program reads do not count.

    Raises:
        UsageError: As :func:`record`.
        RecordError: As :func:`record`.
    """
    launch = Launch(Path(program), tuple(arguments), ranks)
    launch.check()
    folder = cache_folder() if cache is None else Path(cache)
    target = folder / f"{launch.program.stem}-{ranks}-{content_key(launch)}.clue"
    try:
        if target.exists():
            return Trace.open(target)
    except TraceError:
        progress(f"{target.name}: recorded again, the cached trace was damaged or incomplete")
    folder.mkdir(parents=True, exist_ok=True)
    draft = folder / f".{target.name}.{os.getpid()}.clue"
    try:
        record(program, arguments, ranks, draft, mpiexec=mpiexec, timeout=timeout, progress=progress)
        shutil.rmtree(target, ignore_errors=True)
        draft.rename(target)
    except OSError as error:
        raise RecordError(f"{target}: trace could not be cached: {error.strerror or error}") from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return Trace.open(target)


def content_key(launch: Launch) -> str:
    """Return a key of everything that a recording depends on."""
    digest = hashlib.blake2b(digest_size=12)
    facts = [
        TRACE_VERSION, launch.arguments, launch.ranks, platform.python_version(), platform.node(),
        importlib.metadata.version("mpi4py"), launch.program.name,
    ]  # fmt: skip
    digest.update(json.dumps(facts).encode())
    for file in [launch.program, *sorted(launch.program.resolve().parent.glob("*.py"))]:
        digest.update(file.name.encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()
