"""Run one file of mpi4py's tests on this rank, and note the outcome of each test.

    mpiexec -n 2 python one_file.py TESTS test_p2p_buf NOTES [CHOSEN]

``NOTES/<rank>.jsonl`` gets a line when a test begins and another when it ends, so that the file of an interrupted run
shows where it stopped. ``CHOSEN`` is a JSON list of tests; without it all tests run. This program is independent of
clue.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import unittest
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO


class Notes(unittest.TestResult):
    """Writes down the outcome of each test immediately."""

    def __init__(self, to: TextIO) -> None:
        super().__init__()
        self._to = to
        self._outcome: tuple[str, str] = ("passed", "")

    def startTest(self, test: Any) -> None:  # noqa: N802 - unittest's name
        """Note that a test begins."""
        self._outcome = ("passed", "")
        self._note(test, "began", "")
        super().startTest(test)

    def stopTest(self, test: Any) -> None:  # noqa: N802
        """Note the outcome of the test."""
        super().stopTest(test)
        self._note(test, *self._outcome)

    def addSkip(self, test: Any, reason: str) -> None:  # noqa: ARG002, N802
        """Record a test that does not apply; if a whole class is skipped, its tests never begin."""
        self._outcome = ("skipped", reason)

    def addFailure(self, test: Any, err: Any) -> None:  # noqa: ARG002, N802
        """Record a test with a failed assertion."""
        self._outcome = ("failed", _why(err))

    def addError(self, test: Any, err: Any) -> None:  # noqa: N802
        """Record a test that could not continue, or a class or module that could not be set up."""
        self._outcome = ("failed", _why(err))
        if not isinstance(test, unittest.TestCase):
            self._note(test, *self._outcome)

    def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:  # noqa: ARG002, N802
        """Record a part of a test."""
        if err is not None:
            self._outcome = ("failed", _why(err))

    def addExpectedFailure(self, test: Any, err: Any) -> None:  # noqa: ARG002, N802
        """Record a test that fails as its author expects."""
        self._outcome = ("skipped", "expected failure")

    def addUnexpectedSuccess(self, test: Any) -> None:  # noqa: ARG002, N802
        """Record a test that passes although it was expected to fail."""
        self._outcome = ("failed", "unexpected success")

    def _note(self, test: Any, outcome: str, why: str) -> None:
        self._to.write(json.dumps([test.id(), outcome, why]) + "\n")
        self._to.flush()


def _why(error: Any) -> str:
    """Return the exception as one line, with the last line of the tests that raised it."""
    kind, value, trace = error
    place = ""
    while trace is not None:
        if Path(trace.tb_frame.f_code.co_filename).name.startswith(("test_", "mpi")):
            place = f" ({Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno})"
        trace = trace.tb_next
    words = " ".join(str(value).split())
    return f"{kind.__name__}: {words[:200]}{place}"


def _tests(suite: Any) -> Iterator[unittest.TestCase]:
    for each in suite:
        if isinstance(each, unittest.TestCase):
            yield each
        else:
            yield from _tests(each)


def main() -> int:
    """Run the tests; return 0 whatever their outcomes."""
    folder, module, notes, *chosen = sys.argv[1:]
    sys.dont_write_bytecode = True
    sys.path.insert(0, folder)
    os.chdir(folder)
    for name in ("cupy", "numba"):  # as mpi4py's own main.py does unless they are requested
        sys.modules[name] = None  # type: ignore[assignment]
    rank = importlib.import_module("mpi4py.MPI").COMM_WORLD.Get_rank()
    with (Path(notes) / f"{rank}.jsonl").open("w") as to:
        tests = list(_tests(unittest.defaultTestLoader.loadTestsFromName(module)))
        to.write(json.dumps([test.id() for test in tests]) + "\n")
        wanted = set(json.loads(Path(chosen[0]).read_text())) if chosen else None
        suite = unittest.TestSuite(test for test in tests if wanted is None or test.id() in wanted)
        suite.run(Notes(to))
    return 0


if __name__ == "__main__":
    sys.exit(main())
