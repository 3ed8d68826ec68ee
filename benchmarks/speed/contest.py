"""Comparison of simulators: each case is one workload, replayed by all of its contestants in turn, several times."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Protocol

from benchmarks.page import ROOT
from benchmarks.processes import FailedRunError, run
from benchmarks.speed.peers import PeerSimulator, ReplayTime
from benchmarks.speed.settings import NetworkSetting
from benchmarks.speed.workloads import BenchProgram


@dataclass(frozen=True, slots=True)
class NetworkCase:
    """A workload on networks.

    Attributes:
        make: Builds the workload, given the approximate number of messages.
        settings: The networks.
        messages: The number of messages.
        reference: Whether clue's reference engine takes part, instead of peers.
    """

    make: Callable[[int], BenchProgram]
    settings: tuple[NetworkSetting, ...]
    messages: int
    reference: bool = False


@dataclass(frozen=True, slots=True)
class Timing:
    """Times and memory of a simulator on a workload.

    Attributes:
        workload: Name of the workload.
        ranks: Number of ranks of the workload.
        messages: Number of messages that it sends.
        ops: Number of ops that it records.
        setting: The network.
        simulator: Name of the simulator.
        replays: All of the simulator's replays.
    """

    workload: str
    ranks: int
    messages: int
    ops: int
    setting: NetworkSetting
    simulator: str
    replays: tuple[ReplayTime, ...]

    @property
    def seconds(self) -> float:
        """Median processor time of a replay."""
        return median(each.seconds for each in self.replays)

    @property
    def rate(self) -> float:
        """Messages per second."""
        return self.messages / self.seconds

    @property
    def end_to_end(self) -> float:
        """Messages per second, from opening the input to the result."""
        return self.messages / median(each.preparation + each.seconds for each in self.replays)

    @property
    def again(self) -> float:
        """Messages per second of a second replay of the same compiled program; 0 if unknown."""
        seconds = median(each.again for each in self.replays)
        return self.messages / seconds if seconds else 0.0

    @property
    def op_rate(self) -> float:
        """Recorded ops per second."""
        return self.ops / self.seconds

    @property
    def preparation(self) -> float:
        """Median processor time before the replay."""
        return median(each.preparation for each in self.replays)

    @property
    def peak(self) -> float:
        """Median peak resident memory, bytes."""
        return median(each.peak for each in self.replays)

    @property
    def beyond(self) -> float:
        """Median memory beyond the mapped trace, bytes."""
        return median(each.beyond for each in self.replays)

    @property
    def makespan(self) -> float:
        """The predicted makespan, seconds."""
        return self.replays[0].makespan


class Simulator(Protocol):
    """A contestant: clue, or a peer."""

    name: str

    def covers(self, setting: NetworkSetting) -> bool:
        """Return whether it can simulate this network."""

    def prepare(self, workload: BenchProgram, folder: Path) -> None:
        """Write the workload in its input format."""

    def replay(self, workload: BenchProgram, folder: Path, setting: NetworkSetting) -> ReplayTime:
        """Replay the prepared workload in a folder."""


class Clue:
    """clue, each replay in a process of its own (see :mod:`benchmarks.speed.replay`)."""

    def __init__(self, engine: str, name: str = "clue") -> None:
        self.name = name
        self._engine = engine

    def covers(self, setting: NetworkSetting) -> bool:  # noqa: ARG002, D102 - see Simulator
        return True

    def prepare(self, workload: BenchProgram, folder: Path) -> None:  # noqa: D102 - see Simulator
        workload.trace.save(folder / "trace.clue")

    def replay(self, workload: BenchProgram, folder: Path, setting: NetworkSetting) -> ReplayTime:  # noqa: D102 - see Simulator
        used = run(
            [
                sys.executable, "-m", "benchmarks.speed.replay", str(folder / "trace.clue"), setting.model.name,
                "--ranks", str(workload.trace.ranks), "--bandwidth", repr(setting.bandwidth),
                "--engine", self._engine, "--library", workload.library,
                *(["--again"] if self._engine == "fast" else []),
            ],
            ROOT,
        )  # fmt: skip
        figures = json.loads(used.output.splitlines()[-1])
        if figures["engine"] != self._engine:
            raise FailedRunError(f"engine must be {self._engine}, got {figures['engine']}: it does not cover this")
        return ReplayTime(
            seconds=figures["simulate"],
            preparation=figures["open"] + figures["compile"],
            peak=figures["peak"],
            makespan=figures["makespan"],
            beyond=figures["beyond"],
            again=figures.get("again", 0.0),
        )


class Contest:
    """Runs cases.

    Args:
        engine: clue's engine, ``"fast"`` or ``"reference"``.
        peers: Other simulators to run for comparison.
        repeats: Replays of each contestant.
        patience: Seconds after which a case is no longer repeated.
        folder: The folder that keeps inputs.
        tell: Called with a description of each step.
    """

    def __init__(
        self,
        engine: str,
        peers: Sequence[PeerSimulator],
        *,
        repeats: int,
        patience: float,
        folder: Path,
        tell: Callable[[str], None],
    ) -> None:
        self._clue = Clue(engine)
        self._peers = tuple(peers)
        self._repeats = repeats
        self._patience = patience
        self._folder = folder
        self._tell = tell

    def measure(self, cases: Iterable[NetworkCase]) -> Iterator[Timing]:
        """Run cases one after the other."""
        for case in cases:
            yield from self._measure(case)

    def _measure(self, case: NetworkCase) -> Iterator[Timing]:
        workload = case.make(case.messages)
        self._tell(f"{workload.name}: {workload.messages} messages")
        contestants = [
            (simulator, setting)
            for setting in case.settings
            for simulator in self._simulators(case)
            if simulator.covers(setting)
        ]
        folder = self._prepare(workload, [simulator for simulator, _ in contestants])
        replays: dict[tuple[Simulator, NetworkSetting], list[ReplayTime]] = {each: [] for each in contestants}
        left, began = list(contestants), perf_counter()
        for turn in range(self._repeats):
            if turn and perf_counter() - began > self._patience:
                break
            for simulator, setting in tuple(left):
                try:
                    replays[simulator, setting].append(simulator.replay(workload, folder, setting))
                except FailedRunError as error:
                    self._tell(f"  {setting.name:32} {simulator.name:16} failed: {error}")
                    left.remove((simulator, setting))
        for (simulator, setting), mine in replays.items():
            if mine:
                yield self._measurement(workload, setting, simulator, mine)

    def _simulators(self, case: NetworkCase) -> list[Simulator]:
        return [Clue("reference", "clue, reference"), self._clue] if case.reference else [self._clue, *self._peers]

    def _prepare(self, workload: BenchProgram, simulators: Sequence[Simulator]) -> Path:
        """Write the simulators' inputs, unless they exist; a folder never holds two workloads."""
        words = "".join(c if c.isalnum() else "-" for c in workload.name)
        folder = self._folder / f"{words}-{workload.messages}"
        for simulator in simulators:
            done = folder / f"{simulator.name}.done"
            if not done.exists():
                folder.mkdir(parents=True, exist_ok=True)
                simulator.prepare(workload, folder)
                done.touch()
        return folder

    def _measurement(
        self, workload: BenchProgram, setting: NetworkSetting, simulator: Simulator, replays: Sequence[ReplayTime]
    ) -> Timing:
        got = Timing(
            workload=workload.name,
            ranks=workload.trace.ranks,
            messages=workload.messages,
            ops=workload.ops,
            setting=setting,
            simulator=simulator.name,
            replays=tuple(replays),
        )
        self._tell(f"  {setting.name:32} {simulator.name:16} {got.rate / 1e6:9.4f} million messages/s")
        return got
