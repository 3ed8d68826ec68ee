"""Random programs written to other formats and read back: the properties that a format has are kept."""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clue.formats.goal_reading import read_goal
from clue.formats.goal_writing import write_goal
from clue.formats.remarks import Written
from clue.formats.ti_reading import read_ti
from clue.formats.ti_writing import write_ti
from clue.kernel import simulate
from clue.machine import Curve, Link, Machine, Network, NodeType
from clue.trace import COLLECTIVES, ROOTED, Trace
from tests.formats.programs import ALL, APART, HELD, random_program
from tests.properties import examples

#: Without receive delay, because a schedule does not tell a receive from one that is posted and waited for at once.
LINK = Link(Curve.line(1e-5, 1e-9), Curve.line(4e-5, 2e-9), 0.0, 64_000)
RANDOMS = st.builds(Random, st.integers(0, 2**48))


def machine(ranks: int) -> Machine:
    """Return a machine with a node for each rank."""
    return Machine("plain", (NodeType("host"),) * ranks, Network(LINK, LINK))


def finishes(trace: Trace) -> list[float]:
    """Return the finish time of each rank."""
    return [rank.finish for rank in simulate(trace, machine(trace.ranks)).ranks]


def saved(written: Written, folder: Path) -> Path:
    """Write the files, and return the path of the first."""
    for name, text in written.files.items():
        (folder / name).write_text(text)
    return folder / next(iter(written.files))


def back_from_ti(trace: Trace, folder: Path, **how: object) -> Trace:
    """Return a trace after writing and reading it as time-independent traces."""
    path = saved(write_ti(trace, "random.ti", **how), folder)  # type: ignore[arg-type]
    return read_ti(path, flops_per_second=1e9).trace


def back_from_goal(trace: Trace, folder: Path) -> Trace:
    """Return a trace after writing and reading it as a schedule."""
    return read_goal(saved(write_goal(trace, "random.goal"), folder)).trace


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder that all examples share and overwrite."""
    return tmp_path_factory.mktemp("forms")


@settings(deadline=None, max_examples=examples(60))
@given(random=RANDOMS, ranks=st.integers(2, 6), events=st.integers(1, 60))
def test_ti_gives_back_every_column(random: Random, ranks: int, events: int, folder: Path) -> None:
    """Programs on the world that wait for all requests come back from time-independent traces in every column."""
    trace = random_program(random, ranks, events, HELD)
    again = back_from_ti(trace, folder)
    assert trace.head.offsets == again.head.offsets
    for name in ("op", "cpu", "nbytes", "request", "count", "flags", "extras"):
        np.testing.assert_array_equal(getattr(trace.ops, name), getattr(again.ops, name), err_msg=name)
    rooted = ~np.isin(trace.ops.op, [int(op) for op in COLLECTIVES - ROOTED])
    np.testing.assert_array_equal(trace.ops.peer[rooted], again.ops.peer[rooted])
    np.testing.assert_array_equal(trace.ops.tag, again.ops.tag)


@settings(deadline=None, max_examples=examples(60))
@given(random=RANDOMS, ranks=st.integers(2, 6), events=st.integers(1, 60), lower=st.booleans())
def test_ti_means_the_same(random: Random, ranks: int, events: int, lower: bool, folder: Path) -> None:
    """After conversion to time-independent traces, every rank finishes at the same time."""
    trace = random_program(random, ranks, events, APART)
    assert finishes(back_from_ti(trace, folder, lower=lower)) == pytest.approx(finishes(trace), rel=1e-12)


@settings(deadline=None, max_examples=examples(60))
@given(random=RANDOMS, ranks=st.integers(2, 6), events=st.integers(1, 60))
def test_goal_means_the_same(random: Random, ranks: int, events: int, folder: Path) -> None:
    """After conversion to a schedule, every rank finishes at the same time."""
    trace = random_program(random, ranks, events, ALL)
    assert finishes(back_from_goal(trace, folder)) == pytest.approx(finishes(trace), rel=1e-12)


@settings(deadline=None, max_examples=examples(40))
@given(random=RANDOMS, ranks=st.integers(2, 6), events=st.integers(1, 60))
def test_what_came_back_is_written_the_same(random: Random, ranks: int, events: int, folder: Path) -> None:
    """In both formats, writing, reading and writing again gives the same text."""
    trace = random_program(random, ranks, events, APART)
    assert write_ti(back_from_ti(trace, folder), "x").files == write_ti(trace, "x").files
    assert write_goal(back_from_goal(trace, folder), "x").files == write_goal(trace, "x").files
