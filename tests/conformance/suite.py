"""Fetch mpi4py's test suite, and run it with or without the layer on any number of ranks."""

from __future__ import annotations

import compileall
import fcntl
import importlib.metadata
import os
import re
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path

from clue.cache import home, open_folder
from clue.recording import find_mpiexec
from virtual_layer.programs import settings

#: A failed test, as unittest names it at the end: ``FAIL: testSend (test_p2p_buf.TestP2PBufSelf...)``.
_FAULT = re.compile(r"^(?:ERROR|FAIL): (.+)$", re.MULTILINE)
# Do not match whole lines: unittest writes a line and its end separately, so lines of two ranks may be joined.
_COUNT = re.compile(r"Ran (\d+) tests? in ([\d.]+)s")
_SKIPPED = re.compile(r"skipped=(\d+)")


class UnreachableError(Exception):
    """The sources of mpi4py cannot be fetched."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of a run of the suite.

    Attributes:
        ranks: Number of MPI processes.
        tests: Tests run on rank 0.
        skipped: Tests skipped on rank 0.
        faults: Tests that failed on any rank.
        seconds: Time of the tests.
        ended: Whether every rank finished.
        output: Everything that was printed.
    """

    ranks: int
    tests: int
    skipped: int
    faults: frozenset[str]
    seconds: float
    ended: bool
    output: str


def fetch() -> Path:
    """Return the folder of the tests of the installed mpi4py, which is fetched from PyPI once.

    Raises:
        UnreachableError: If it is neither in the cache nor available from PyPI.
    """
    version = importlib.metadata.version("mpi4py")
    folder = home() / "conformance"
    tests = folder / f"mpi4py-{version}" / "test"
    # The folder must be private, as its content is run. The lock lets only one of several processes fetch it.
    with open_folder(folder), (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (tests / "main.py").exists():
            _unpack(_download(version, folder), folder)
        # The suite keeps Python from writing bytecode, so each rank of each run would compile all modules again.
        compileall.compile_dir(str(tests), quiet=2)
    return tests


def _unpack(archive: Path, folder: Path) -> None:
    with tarfile.open(archive) as sources:
        wanted = [each for each in sources.getmembers() if each.name.split("/")[1:2] in (["test"], ["demo"])]
        if hasattr(tarfile, "data_filter"):
            sources.extraction_filter = tarfile.data_filter
        sources.extractall(folder, wanted)


def _download(version: str, folder: Path) -> Path:
    # Fetch only mpi4py as sources: pip's build dependencies come as wheels, which saves building them for minutes.
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", "mpi4py"]
    finished = subprocess.run(
        [*pip, "--dest", str(folder), f"mpi4py=={version}"], capture_output=True, text=True, check=False
    )
    archives = list(folder.glob(f"mpi4py-{version}.tar.gz"))
    if finished.returncode or not archives:
        reason = (finished.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise UnreachableError(f"the sources of mpi4py {version} cannot be fetched: {reason}")
    return archives[0]


def run(ranks: int, *, target: Path | None = None, include: str = "", timeout: float = 1800.0) -> Outcome:
    """Run the suite, under the layer if a target for the trace is given.

    Args:
        ranks: Number of MPI processes.
        target: Folder of the trace.
        include: Regular expression that modules must match.
        timeout: Seconds after which the run is given up.
    """
    layer = [] if target is None else ["-m", "virtual_layer", "-o", str(target)]
    # There is no folder of a build; to look for one, each rank would import setuptools.
    command = [find_mpiexec(), "-n", str(ranks), sys.executable, *layer, "main.py", "--no-builddir"]
    root = str(Path(__file__).resolve().parents[2])
    environment = {**os.environ, **settings(os.environ), "PYTHONPATH": root, "VIRTUAL_LAYER_STRICT": "1"}
    finished = subprocess.run(
        [*command, *(["-i", include] if include else [])],
        cwd=fetch(), env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, errors="replace", timeout=timeout, check=False,
    )  # fmt: skip
    return _outcome(ranks, finished.stdout)


def _outcome(ranks: int, output: str) -> Outcome:
    counts = _COUNT.findall(output)
    skipped = _SKIPPED.findall(output)
    return Outcome(
        ranks=ranks,
        tests=max((int(tests) for tests, _ in counts), default=0),
        skipped=max(map(int, skipped), default=0),
        faults=frozenset(_FAULT.findall(output)),
        seconds=max((float(seconds) for _, seconds in counts), default=0.0),
        ended=len(counts) == ranks,
        output=output,
    )
