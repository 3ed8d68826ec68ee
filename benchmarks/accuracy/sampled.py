"""Sampled simulations compared with full replays.

``python -m benchmarks.accuracy.sampled --recordings FOLDER [-o TABLE.md]``

Programs of :mod:`benchmarks.accuracy.programs` are recorded with more iterations, unless FOLDER has their recordings,
and simulated on three machines: without contention, with ports, and with flows. Two of the programs were not looked at
before the model was finished.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import clue
from benchmarks.page import ROOT
from clue.machine import Machine, NoContention
from clue.trace import Trace


@dataclass(frozen=True, slots=True)
class LongProgram:
    """A program with more iterations than in its file.

    Attributes:
        name: Name of its file.
        ranks: Number of ranks.
        size: Size of its problem.
        line: A line of its source.
        longer: The line that replaces it to get more iterations.
        seen: Whether it was looked at during the development of the model.
    """

    name: str
    ranks: int
    size: int
    line: str
    longer: str
    seen: bool = True

    def record(self, folder: Path) -> Trace:
        """Return its recording; make it if there is none."""
        path = folder / f"{self.name}-{self.ranks}.clue"
        if not path.exists():
            command = [sys.executable, "-m", "clue", "record", "-n", str(self.ranks), "--repeats", "1", "-o", str(path)]
            subprocess.run([*command, str(self._written(folder)), str(self.size)], check=True)
        return Trace.open(path)

    def _written(self, folder: Path) -> Path:
        own = Path("benchmarks", "accuracy", "programs")
        here, there = ROOT / own, folder / own
        there.mkdir(parents=True, exist_ok=True)
        (there / "section.py").write_text((here / "section.py").read_text())
        if not (folder / "scenarios").exists():
            (folder / "scenarios").symlink_to(ROOT / "scenarios")
        source = (here / f"{self.name}.py").read_text()
        assert f"\n{self.line}\n" in source, f"{self.name}.py: a line must be {self.line!r}"
        (there / f"{self.name}.py").write_text(source.replace(f"\n{self.line}\n", f"\n{self.longer}\n"))
        return there / f"{self.name}.py"


PROGRAMS = (
    LongProgram("cg", 8, 128, "STEPS, SWEEPS = 30, 48", "STEPS, SWEEPS = 1000, 8"),
    LongProgram("jacobi", 8, 128, "EXCHANGES, DEEP = 40, 16", "EXCHANGES, DEEP = 1000, 4"),
    LongProgram("nbody", 4, 128, "STEPS, TILE = 4, 8", "STEPS, TILE = 600, 8"),
    LongProgram("wavefront", 4, 384, "BLOCKS, SWEEPS = 16, 2", "BLOCKS, SWEEPS = 12, 400"),
    LongProgram("fft", 4, 64, "ROUNDS, MOVES = 12, 8", "ROUNDS, MOVES = 600, 4"),
    LongProgram("lu", 4, 1600, "BLOCK = 64", "BLOCK = 2"),
    LongProgram(
        "sparse", 4, 4000,
        "ITERATIONS, PER_ROW, STEPS, STEP = 12, 12, 800, 0.01",
        "ITERATIONS, PER_ROW, STEPS, STEP = 600, 12, 40, 0.01",
        seen=False,
    ),
    LongProgram("cholesky", 4, 2400, "BLOCK = 48", "BLOCK = 4", seen=False),
)  # fmt: skip


def machines() -> Iterator[tuple[str, Machine]]:
    """Yield three shipped machines, one for each contention model."""
    cluster = clue.load_machine("i-cluster")
    yield "i-cluster, none", replace(cluster, network=replace(cluster.network, contention=NoContention()))
    yield "kishimoto, ports", clue.load_machine("kishimoto")
    yield "fat-tree, flows", clue.load_machine("fat-tree")


@dataclass(frozen=True, slots=True)
class Case:
    """A program on a machine, simulated by sampling and in full; makespans in seconds."""

    program: LongProgram
    machine: str
    steady: clue.Steady
    whole: float

    @property
    def error(self) -> float:
        """The relative error of the makespan."""
        return self.steady.result.makespan / self.whole - 1

    @property
    def covered(self) -> bool:
        """Whether the predicted interval contains the makespan of the full replay."""
        return self.steady.low <= self.whole <= self.steady.high

    @property
    def row(self) -> str:
        """Return a line of the table."""
        name, steady = f"{self.program.name}, P={self.program.ranks}", self.steady
        if steady.why:
            return f"| {name} | {self.machine} | {self.whole:.3f} | {steady.why} | | | |"
        reach = (steady.high - steady.low) / 2 / steady.result.makespan
        return (
            f"| {name} | {self.machine} | {self.whole:.3f} | {self.error:+.2%} | ± {reach:.2%} | "
            f"{'yes' if self.covered else 'no'} | {steady.of / steady.result.ops:.1f} |"
        )


def summary(title: str, cases: Sequence[Case]) -> str:
    """Return a summary of the errors."""
    some = [case for case in cases if not case.steady.why]
    errors = [abs(case.error) for case in some]
    told = f"**{title}**: {len(some)} of {len(cases)} sampled"
    if not some:
        return told
    fewer = sum(case.steady.of for case in some) / sum(case.steady.result.ops for case in some)
    covered = sum(case.covered for case in some) / len(some)
    return (
        f"{told}; error {sum(errors) / len(errors):.2%} on average, {max(errors):.2%} at worst; "
        f"{fewer:.1f} times fewer ops; 80 % intervals hold {covered:.0%}"
    )


def main() -> None:
    """Record, simulate, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--recordings", type=Path, required=True)
    parser.add_argument("-o", dest="output", type=Path)
    asked = parser.parse_args()
    cases = []
    for program in PROGRAMS:
        trace = program.record(asked.recordings.resolve())
        for name, machine in machines():
            placement = "cyclic" if program.ranks <= len(machine.nodes) else "block"
            steady = clue.simulate_sampled(trace, machine, placement)
            cases.append(Case(program, name, steady, clue.simulate(trace, machine, placement).makespan))
    lines = [
        "| program | machine | makespan (s) | error | interval | holds it | times fewer ops |",
        "| --- | --- | --- | --- | --- | --- | --- |",
        *(case.row for case in cases),
        "",
        summary("Seen", [case for case in cases if case.program.seen]),
        "",
        summary("Not looked at before", [case for case in cases if not case.program.seen]),
    ]
    print("\n".join(lines))
    if asked.output is not None:
        how = "`python -m benchmarks.accuracy.sampled --recordings FOLDER -o benchmarks/accuracy/sampled.md`"
        title = ["# Sampled simulations beside full replays", "", f"{how}; each program was recorded once.", ""]
        asked.output.write_text("\n".join([*title, *lines]) + "\n")


if __name__ == "__main__":
    main()
