"""A program of about 10^6 calls per rank on hundreds of ranks, extrapolated and simulated without expanding its trace.

``python -m benchmarks.accuracy.extrapolate.scale FOLDER [--ranks 512] [--ops 1000000] [-o scale.md]``

The program is a stencil at weak scaling: each step computes, exchanges a row with both neighbours in a ring, and in
some settings ends with an allreduce. Its recordings are synthetic, with equal bursts, so that the makespan has a closed
form. The measured command is one that a user runs: ``clue simulate`` on a configuration with ``program: {extrapolate:
…}``. It runs in its own process, and the measurement extends from reading the recordings to the result.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from clue.trace import Op, Trace, TraceBuilder
from clue.trace.sites import Frame, Site

#: Duration of a burst; time to send, transmit and receive a message of any size; in seconds.
BURST, SEND, TRAVEL, RECEIVE = 50e-6, 1e-6, 2e-6, 0.5e-6
#: Recorded sizes (numbers of steps) and numbers of ranks; size of a row, bytes.
_STEPS, _RANKS, _ROW = (12, 24, 48), (4, 8, 16), 8192
_FUNCTION, _LOOP = "main", 10
#: Ops of a step without an allreduce (two nonblocking receives and sends, and a wait for all) and with one.
_HALO, _AGREEING = 5, 6


@dataclass(frozen=True, slots=True)
class Setting:
    """A simulated setting.

    Attributes:
        agrees: Whether each step ends with an allreduce.
        contention: Contention model of the machine.
    """

    agrees: bool
    contention: str

    @property
    def name(self) -> str:
        """The setting's name in the table."""
        return f"halo{' and allreduce' if self.agrees else ''}, contention: {self.contention}"

    def steps(self, ops: int) -> int:
        """Return the number of steps for a number of ops per rank."""
        return ops // (_AGREEING if self.agrees else _HALO)

    def makespan(self, steps: int, ranks: int) -> float | None:
        """Return the makespan by a closed form, which exists without contention on 2^k ranks; otherwise ``None``.

        The second of the two messages of a step arrives last: s after the start of the first send, 2 s + t in all. An
        allreduce doubles distances k times.
        """
        doublings = math.log2(ranks)
        if self.contention != "none" or (self.agrees and not doublings.is_integer()):
            return None
        halo = BURST + 2 * RECEIVE + 2 * SEND + TRAVEL
        return steps * (halo + self.agrees * doublings * (RECEIVE + SEND + TRAVEL))


SETTINGS = (Setting(False, "none"), Setting(False, "ports"), Setting(True, "none"))
#: The first setting is also measured on this many times the number of ranks.
_MORE = 8


@dataclass(frozen=True, slots=True)
class Measured:
    """Time and memory that a command took.

    Attributes:
        setting: The simulated program and machine.
        ranks: Number of ranks.
        ops: Number of ops.
        makespan: The simulated makespan, seconds.
        expected: The makespan by the closed form, if there is one.
        wall: Elapsed time, seconds.
        cpu: Processor time, seconds.
        peak: Peak resident memory, bytes.
    """

    setting: Setting
    ranks: int
    ops: int
    makespan: float
    expected: float | None
    wall: float
    cpu: float
    peak: int


def stencil(steps: int, ranks: int, *, agrees: bool, burst: Callable[[], float] = lambda: BURST) -> Trace:
    """Return a recording of the program with a number of steps and given burst times."""
    trace = TraceBuilder(ranks, "stencil.py")
    sites = [Site((Frame("stencil.py", _FUNCTION, _LOOP + 1 + i, i, (_LOOP,)),)) for i in range(_AGREEING)]
    for rank in range(ranks):
        mine, left, right = trace[rank], (rank - 1) % ranks, (rank + 1) % ranks
        for _ in range(steps):
            mine.at(sites[0])
            mine.compute(burst())
            requests = [mine.irecv(left)]
            mine.at(sites[1])
            requests.append(mine.irecv(right, tag=1))
            mine.at(sites[2])
            requests.append(mine.isend(right, _ROW))
            mine.at(sites[3])
            requests.append(mine.isend(left, _ROW, tag=1))
            mine.at(sites[4])
            mine.wait(*requests)
            if agrees:
                mine.at(sites[5])
                mine.collective(Op.ALLREDUCE, 8)
    return trace.build()


def recorded(folder: Path, *, agrees: bool) -> str:
    """Save the recordings; return the pattern that matches their files."""
    name = "agreeing" if agrees else "halo"
    for steps in _STEPS:
        for ranks in _RANKS:
            stencil(steps, ranks, agrees=agrees).save(folder / f"{name}-{steps}-{ranks}.clue")
    return f"{name}-{{size}}-{{ranks}}.clue"


def configuration(folder: Path, pattern: str, setting: Setting, steps: int, ranks: int) -> Path:
    """Write the input of ``clue simulate``: one processor per node, and links whose times do not depend on sizes."""
    link = {"send_delay": f"{SEND!r} s", "transmission_delay": f"{TRAVEL!r} s", "receive_delay": f"{RECEIVE!r} s"}
    machine = {
        "name": "flat",
        "nodes": [{"count": ranks, "type": "node"}],
        "node_types": {"node": {"processors": 1, "performance_factor": 1}},
        "network": {"between_nodes": link, "within_node": link, "contention": setting.contention},
    }
    (folder / "flat.yaml").write_text(yaml.safe_dump(machine))
    wanted = {"traces": pattern, "size": steps, "ranks": ranks}
    file = folder / "simulate.yaml"
    file.write_text(yaml.safe_dump({"program": {"extrapolate": wanted}, "machine": "flat.yaml"}))
    return file


def measure(folder: Path, setting: Setting, ops: int, ranks: int) -> Measured:
    """Run the command and measure it."""
    steps = setting.steps(ops)
    file = configuration(folder, recorded(folder, agrees=setting.agrees), setting, steps, ranks)
    output = folder / "result.json"
    began = time.perf_counter()
    with output.open("wb") as out:
        words = [sys.executable, "-m", "clue", "simulate", str(file), "--json"]
        process = os.posix_spawn(
            sys.executable, words, os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, out.fileno(), 1)]
        )
        _, status, used = os.wait4(process, 0)
    wall = time.perf_counter() - began
    if status:
        raise SystemExit(os.waitstatus_to_exitcode(status))
    result = json.loads(output.read_text())
    expected = setting.makespan(steps, ranks)
    cpu = used.ru_utime + used.ru_stime
    return Measured(setting, ranks, result["ops"], result["makespan"], expected, wall, cpu, used.ru_maxrss * 1024)


_OPENING = """\
# Too long to be written out

A stencil of some 10^6 calls a rank, extrapolated from nine recordings (12 to 48 steps on 4 to 16
ranks) and simulated by `clue simulate` with `program: {extrapolate: …}`. Every op is gone through, none is written: a
step is held once, bursts are drawn as they come, and messages that are over give their memory to others. The figures
are those of the trace that would be written, to the last bit (`tests/extrapolation/test_loops.py`).

Time and memory are those of the whole command, from reading the recordings to the result. Where elapsed time is much
more than processor time, others used the computer. Where the makespan has a closed form it stands beside it: a step
takes its burst, 2 r + 2 s + t, and log2 P (r + s + t) where it agrees on a residual.

| program | ranks | ops | processor time | ops/s of it | elapsed | memory | makespan | closed form |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"""


def page(found: Sequence[Measured], ranks: int) -> Iterator[str]:
    """Yield the lines of the page."""
    yield from _OPENING.splitlines()
    for each in found:
        expected = "" if each.expected is None else f"{each.expected:.6f} s"
        used = f"{each.cpu:.1f} s | {each.ops / each.cpu / 1e6:.1f} M | {each.wall:.0f} s | {each.peak / 2**20:.0f} MiB"
        yield f"| {each.setting.name} | {each.ranks:,} | {each.ops:,} | {used} | {each.makespan:.6f} s | {expected} |"
    yield ""
    yield f"Made by `python -m benchmarks.accuracy.extrapolate.scale FOLDER --ranks {ranks}`."


def main() -> None:
    """Measure all settings, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy.extrapolate.scale", description=__doc__)
    parser.add_argument("folder", type=Path, help="where recordings go")
    parser.add_argument("--ranks", type=int, default=512)
    parser.add_argument("--ops", type=int, default=1_000_000, help="a rank")
    parser.add_argument("-o", "--output", type=Path, default=Path(__file__).with_name("scale.md"))
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    found: list[Measured] = []
    for setting, ranks in [*((each, asked.ranks) for each in SETTINGS), (SETTINGS[0], _MORE * asked.ranks)]:
        found.append(measure(asked.folder, setting, asked.ops, ranks))
        print(found[-1], file=sys.stderr)
        asked.output.write_text("\n".join(page(found, asked.ranks)) + "\n")


if __name__ == "__main__":
    main()
