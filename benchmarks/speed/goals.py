"""Goals of the fast engine, compared with the measurements."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from operator import ge, le
from pathlib import Path

from benchmarks.page import ROOT, Goal
from benchmarks.processes import FailedRunError, run
from benchmarks.speed.contest import Clue, Timing
from benchmarks.speed.settings import FLOWS, ContentionKind, NetworkSetting
from benchmarks.speed.workloads import BenchProgram, halo, large

SWEPT = 512


#: A measured figure, and the name of what was measured.
Point = tuple[str, float]


def _compared(
    figure: str, limit: float, points: Iterable[Point], better: Callable[[float, float], bool] = ge, unit: str = "×"
) -> Goal:
    """Compare each figure with a goal; all must reach it."""
    points = list(points)
    sign = "at least" if better is ge else "at most"
    wanted = f"{sign} {limit:g} {unit}"
    if not points:
        return Goal(figure, wanted)
    words = "; ".join(f"{where}: {value:.3g}" if where else f"{value:.3g} {unit}" for where, value in points)
    return Goal(figure, wanted, words, all(better(value, limit) for _, value in points))


class Board:
    """All measurements, from which figures are computed.

    Args:
        measured: All measurements.
    """

    def __init__(self, measured: Sequence[Timing]) -> None:
        self._measured = measured

    def ratios(
        self, workload: str, setting: NetworkSetting, peer: str, *, ranks: int | None = None, figure: str = "rate"
    ) -> Iterator[Point]:
        """Yield the ratios of messages per second, clue over a peer, which may cover fewer models than clue."""
        for mine in self._clue(workload, setting):
            if ranks is not None and mine.ranks != ranks:
                continue
            for other in self._measured:
                if other.simulator == peer and other.workload == mine.workload and self._near(other, mine):
                    yield f"P={mine.ranks}", getattr(mine, figure) / getattr(other, figure)

    @staticmethod
    def _near(other: Timing, mine: Timing) -> bool:
        same = other.setting == mine.setting or mine.setting.model not in FLOWS
        return same and other.setting.bandwidth == mine.setting.bandwidth and other.messages == mine.messages

    def growth(self, workload: str, setting: NetworkSetting, few: int, many: int) -> Iterator[Point]:
        """Return the ratio of times per message, many ranks over few."""
        by_ranks = {each.ranks: each for each in self._clue(workload, setting)}
        if few in by_ranks and many in by_ranks:
            yield "", by_ranks[few].rate / by_ranks[many].rate

    def _clue(self, workload: str, setting: NetworkSetting) -> Iterator[Timing]:
        for each in self._measured:
            if each.simulator == "clue" and each.setting == setting and workload in each.workload:
                yield each

    def beyond(self) -> Iterator[Point]:
        """Yield the memory beyond the trace, bytes per op, of programs whose calls are messages."""
        for each in self._clue("W1", NetworkSetting()):
            yield f"P={each.ranks}", each.beyond / each.ops


#: Settings in which links are shared, by name.
_SHARED = [NetworkSetting(model, bandwidth) for model in FLOWS for bandwidth in (1e9, 12.5e9)]
_SHARED_WORKLOADS = {"W1": "W1", "W4 8 B": "W4 allreduce 8 B", "W4 1 MiB": "W4 allreduce 1 MiB"}


def contest_goals(measured: Sequence[Timing]) -> Iterator[Goal]:
    """Compare the measurements of clue and its peers with the goals."""
    board = Board(measured)
    none, factor = NetworkSetting(ContentionKind.NONE), NetworkSetting(ContentionKind.FACTOR)
    yield _compared("W1, no contention: messages/s against LogGOPSim", 10, board.ratios("W1", none, "LogGOPSim"))
    yield _compared(
        "W1, no contention, end to end (open, check, prepare, replay): messages/s against LogGOPSim",
        8,
        board.ratios("W1", none, "LogGOPSim", figure="end_to_end"),
    )
    yield _compared(
        "W1, the paper's contention factor: messages/s against LogGOPSim, which has none",
        3,
        board.ratios("W1", factor, "LogGOPSim"),
    )
    for setting in _SHARED:
        for short, workload in _SHARED_WORKLOADS.items():
            yield _compared(
                f"{short}, {setting.name}: messages/s against SimGrid",
                10,
                board.ratios(workload, setting, "SimGrid"),
            )
    for setting in _SHARED:
        for short, workload in _SHARED_WORKLOADS.items():
            yield _compared(
                f"{short}, {setting.name}: time per message at P = 1024 against P = 64",
                3,
                board.growth(workload, setting, 64, 1024),
                le,
            )
    for algorithm, words in (("linear", "all started at once"), ("scattered", "32 started at a time")):
        yield _compared(
            f"W3 alltoall, {words}, P = 256: messages/s against LogGOPSim",
            50,
            board.ratios(f"W3 alltoall 1 KiB, {algorithm}", none, "LogGOPSim", ranks=256),
        )
    yield _compared("memory beyond the mapped trace", 64, board.beyond(), le, "B an op")
    yield _compared(
        "W1, no contention: time per message at P = 4096 against P = 64", 2, board.growth("W1", none, 64, 4096), le
    )


def sweep_goal(folder: Path, messages: int) -> Goal:
    """Measure a sweep over many machines, and compare it with its goal."""
    workload = halo(256, messages)
    trace = folder / f"sweep-{messages}.clue"
    if not trace.exists():
        workload.trace.save(trace)
    command = [sys.executable, "-m", "benchmarks.speed.sweep", str(trace), "--ranks", "256", "--machines", str(SWEPT)]
    used = run(command, ROOT)
    got = json.loads(used.output.splitlines()[-1])
    figure = f"sweep of {SWEPT} machines, W1, P = 256"
    goal = _compared(figure, 5e8, [("", workload.messages * SWEPT / got["seconds"])], unit="message-configurations/s")
    if not got["exact"]:
        return Goal(goal.figure, goal.wanted, "there is no exact sweep yet: bounds of computation alone", False)
    said = (
        f"{goal.measured} ({workload.messages} messages in {got['seconds']:.2f} s; {got['exact']} of {SWEPT} exact; "
        f"{got['equal']} of {got['checked']} replayed alone are equal)"
    )
    right = got["exact"] == SWEPT and got["equal"] == got["checked"]
    return Goal(goal.figure, goal.wanted, said, bool(goal.reached) and right)


def large_goal(folder: Path, ops: int, engine: str) -> Goal:
    """Replay the largest workload; the measured time starts with opening the trace."""
    workload = _kept_large(folder, ops)
    got = Clue(engine).replay(workload, folder / f"large-{ops}", NetworkSetting())
    seconds, gibibytes = got.preparation + got.seconds, got.peak / (1 << 30)
    return Goal(
        f"{workload.trace.ranks} ranks, {workload.ops} ops, no contention",
        "under 60 s, under 8 GiB",
        f"{seconds:.1f} s ({got.preparation:.1f} s to open, check and compile, {got.seconds:.1f} s to replay: "
        f"{workload.messages / got.seconds / 1e6:.1f} million messages/s), {gibibytes:.2f} GiB with the trace mapped, "
        f"{got.beyond / workload.ops:.1f} B an op beyond it",
        seconds < 60 and gibibytes < 8,
    )


@cache
def _kept_large(folder: Path, ops: int) -> BenchProgram:
    workload = large(ops=ops)
    kept = folder / f"large-{ops}"
    if not (kept / "done").exists():
        kept.mkdir(parents=True, exist_ok=True)
        workload.trace.save(kept / "trace.clue")
        (kept / "done").touch()
    return workload


def first_use_goal() -> Goal:
    """Simulate a small scenario with empty caches, then again."""
    figure, wanted = "first use after installation, and later uses of a small scenario", "≤ 30 s, ≤ 2 s"
    with tempfile.TemporaryDirectory() as empty:
        environment = {"XDG_CACHE_HOME": empty}
        command = [sys.executable, "-m", "clue", "simulate", "pingpong", "--engine", "fast", "--json"]
        try:
            runs = [run(command, ROOT, environment) for _ in range(4)]
        except FailedRunError as error:
            return Goal(figure, wanted, f"failed: {error}", False)
    first, later = runs[0].wall, max(each.wall for each in runs[1:])
    engine = json.loads(runs[0].output[runs[0].output.index("{") :])["engine"]
    return Goal(figure, wanted, f"{first:.1f} s, {later:.2f} s ({engine} engine)", first <= 30 and later <= 2)
