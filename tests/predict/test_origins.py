"""Traces that share a name, but for the number of ranks, must record one program; other arguments are told."""

from __future__ import annotations

from dataclasses import replace

import pytest

from clue.errors import UsageError
from clue.predict.application import Application
from clue.predict.replaying import ReplayPredictor, TraceSource
from clue.purchase import Component, Scenario, Workload, rank_options
from clue.trace import Trace
from tests.purchase.test_ranking import option, traces

Recorded = tuple[str, tuple[str, ...]]


def ranked(recorded: dict[int, Recorded], mpi: str = "MPICH") -> list[str]:
    """Rank an option by traces of these programs and arguments at each number of ranks; return what is said of them."""

    def source(application: Application, ranks: int) -> Trace:
        trace = traces(application, ranks)
        program, arguments = recorded[ranks]
        return replace(trace, head=replace(trace.head, program=program, arguments=arguments, mpi=mpi))

    kernel = Component("job", Application(trace="job-{ranks}.clue"))
    asked = Scenario("origins", (Workload("job", (kernel,), ranks=tuple(recorded)),), (option("four", 4),))
    found: TraceSource = source
    ranking = rank_options(asked, ReplayPredictor(found))
    return [each for each in ranking.warnings if each.startswith("job: ")]


def test_another_program_is_refused() -> None:
    """The message names both traces' programs; folders do not matter."""
    with pytest.raises(UsageError, match=r"program must be that of .* \(halo\.py\), got sort\.py"):
        ranked({1: ("halo.py", ()), 2: ("sort.py", ()), 4: ("halo.py", ())})
    assert not ranked({1: ("halo.py", ()), 2: ("there/halo.py", ())})


def test_other_arguments_are_told() -> None:
    """The warning lists the arguments with their numbers of ranks; the number of ranks itself is no difference."""
    sizes: dict[int, Recorded] = {1: ("halo.py", ("800",)), 2: ("halo.py", ("200",)), 4: ("halo.py", ("800",))}
    (said,) = ranked(sizes)
    assert (
        said
        == "job: its arguments differ by number of ranks (800 on 1, 4; 200 on 2), so splits may not do the same work"
    )
    assert not ranked({n: ("halo.py", ("--grid", str(n))) for n in (1, 2, 4)})


def test_an_argument_that_stays_the_same_is_no_difference() -> None:
    """Four iterations on any number of ranks are equal arguments; a grid of the number of ranks beside them is, too."""
    assert not ranked(dict.fromkeys((1, 2, 4), ("halo.py", ("--iterations", "4"))))
    assert not ranked({n: ("halo.py", ("--iterations", "4", "--grid", str(n))) for n in (1, 2, 4)})
    (said,) = ranked({1: ("halo.py", ("4", "800")), 2: ("halo.py", ("4", "200")), 4: ("halo.py", ("4", "800"))})
    assert "(4 800 on 1, 4; 4 200 on 2)" in said


def test_what_was_not_recorded_has_no_origin() -> None:
    """Converted traces carry the names of their files, which differ."""
    assert not ranked({n: (f"halo-{n}.goal", ()) for n in (1, 2, 4)}, mpi="")
