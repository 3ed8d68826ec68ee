"""Allowed outcomes of a hostile input: success with finite figures or one error of clue, the same in both engines."""

from __future__ import annotations

import contextlib
import io
import json
import math
import os
import re
from collections.abc import Sequence
from pathlib import Path
from random import Random

from clue.cli import main
from clue.errors import ClueError, TraceError
from clue.kernel import compile_program, simulate
from clue.kernel.model.program import Program
from clue.machine import Machine
from clue.machine.contention import NUMBERS
from clue.report.result.document import result_document
from clue.report.trace.document import trace_document
from clue.report.trace.text import trace_text
from clue.result import Result
from clue.trace import Trace
from clue.trace.pack import pack
from clue.trace.parts.reading import describe_incomplete, signs_of_life
from tests.kernel.comparing import same_figures
from tests.kernel.random_cases import random_machine, random_placement


def trace_verdict(random: Random, path: Path) -> str:
    """Open a trace, print it and simulate it with both engines; return its error, or ``""``.

    Raises:
        Exception: If it ends in any other way.
    """
    try:
        trace = Trace.open(path)
        json.dumps(trace_document(trace), allow_nan=False)
        trace_text(trace)
        program = compile_program(trace)
        if program.ranks > 64:
            return "many ranks"
        machine = random_machine(random, random.choice(list(NUMBERS)), ties=random.random() < 0.5)
        placement = random_placement(random, machine, program.ranks)
    except ClueError as error:
        return checked(error)
    return same(program, machine, placement)


def parts_verdict(random: Random, path: Path) -> str:
    """Pack the parts of ranks, and try the trace; return the error, or ``""``.

    Raises:
        Exception: If it ends in any other way.
    """
    signs_of_life(path)
    try:
        pack(path)
    except TraceError as error:
        told = checked(error)
        assert not (path / "head.json").exists() and not [*path.glob("*.npy")]
        assert describe_incomplete(path)
        return told
    return trace_verdict(random, path)


def same(program: Program, machine: Machine, placement: list[int]) -> str:
    """Simulate with both engines, and check that they agree."""
    expected = _outcome(program, machine, placement, "reference")
    got = _outcome(program, machine, placement, "fast")
    if isinstance(expected, Result) and isinstance(got, Result):
        same_figures(got, expected)
        assert [each for each in got.warnings if not each.startswith("engine:")] == list(expected.warnings)
        assert all(math.isfinite(each.finish) for each in expected.ranks), expected.ranks
        json.dumps(result_document(expected), allow_nan=False)
        return ""
    assert got == expected, f"{got} != {expected}"
    return str(got)


def _outcome(program: Program, machine: Machine, placement: list[int], engine: str) -> Result | str:
    try:
        return simulate(program, machine, placement, engine, traffic=True)
    except ClueError as error:
        return checked(error)


def checked(error: ClueError) -> str:
    """Return the text of an error after checking that it can be printed."""
    text = str(error)
    assert text and len(text) < 10_000, f"message of {len(text)} characters"
    assert error.exit_status in {1, 2, 3}
    return f"{type(error).__name__}: {text}"


def command_verdict(words: Sequence[str], folder: Path) -> str:
    """Run a command in a folder; return its exit status and the first line of its error output.

    Raises:
        Exception: If it ends in any other way than with a status of the interface and text that can be shown.
    """
    out, told = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.TextIOWrapper(io.BytesIO(), "utf-8")
    before = Path.cwd()
    os.chdir(folder)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(told):
            status = main(words)
    finally:
        os.chdir(before)
    texts = []
    for stream in (out, told):
        stream.flush()
        texts.append(stream.buffer.getvalue().decode())
    assert status in {0, 1, 2, 3}, status
    for text in texts:
        assert not _UNSEEN & set(text), text
        assert "Traceback" not in text and "Warning:" not in text, text
    if status:
        assert texts[1].splitlines() and all(len(line) < 5000 for line in texts[1].splitlines()), texts[1][:200]
    elif "--json" in words:
        json.loads(texts[0], parse_constant=_refuse)
    else:
        assert not re.search(r"(?<!\S)-?(nan|inf)(?!\S)", texts[0]), texts[0]
    return f"{status} {texts[1].splitlines()[0] if texts[1] else ''}"


def _refuse(constant: str) -> None:
    raise AssertionError(f"JSON must have finite numbers, got {constant}")


#: Characters that must not be printed to a terminal.
_UNSEEN = {"\x1b", "\x07", "\r", "\0", "\u202e"}
