"""The page of results in Markdown."""

from __future__ import annotations

import platform
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone

import numpy as np

import clue
from benchmarks.page import REACHED, Goal, markdown_table, processor, revision
from benchmarks.speed.contest import Timing
from benchmarks.speed.peers import PeerSimulator
from benchmarks.speed.settings import FLOWS


@dataclass(frozen=True, slots=True)
class Provenance:
    """How the figures were measured.

    Attributes:
        peers: The simulators that clue is compared with.
        command: The command line.
        repeats: Largest number of replays of each contestant.
    """

    peers: Sequence[PeerSimulator]
    command: str
    repeats: int


def report(about: Provenance, goals: Sequence[Goal], measured: Sequence[Timing], engines: Sequence[Timing]) -> str:
    """Return the whole report."""
    lines = [
        "# Benchmarks",
        "",
        *_about(about),
        "",
        "## To reach",
        "",
        *markdown_table(
            ("figure", "goal", "measured", "reached"),
            ((goal.figure, goal.wanted, goal.measured or "–", REACHED[goal.reached]) for goal in goals),
        ),
        "",
        "## Without links",
        "",
        "LogGOPSim knows one model: latency, and ports of its own at both ends. "
        "The table compares it with each model of clue.",
        "",
        *_measurements([each for each in measured if each.setting.model not in FLOWS], measured),
        "",
        "## Shared links",
        "",
        *_measurements([each for each in measured if each.setting.model in FLOWS], measured),
        "",
        "## The two engines",
        "",
        *_measurements(engines, engines),
        "",
    ]
    return "\n".join(lines)


def _about(about: Provenance) -> Iterator[str]:
    now = datetime.now(timezone.utc)
    yield f"Measured {now:%Y-%m-%d %H:%M} UTC by `{about.command}`, on one core of {processor()}, {platform.system()}."
    yield f"clue {clue.__version__} ({revision()}), Python {platform.python_version()}, numpy {np.__version__},"
    yield f"{_compiler()}."
    yield from (f"{peer.description}." for peer in about.peers)
    yield ""
    yield (
        f"Processor time, medians of up to {about.repeats} replays, simulators in turn. A replay is what follows "
        "reading and compiling the trace (clue: `simulate` of a compiled program; peers: the time of the run minus "
        "that of a start with the same number of ranks and no work; SimGrid reads its text during the replay). Ops are "
        "recorded calls; messages include "
        "those of lowered collectives. Bursts are jittered. Memory is the process's largest resident one, interpreter "
        "included. *Again* is a second replay of the same compiled program, which matched its messages in the first. "
        "*End to end* is messages per second, including everything before the replay: from opening the trace, or from "
        "the start of the peer's program, to the result."
    )


def _compiler() -> str:
    try:
        said = subprocess.run(["c++", "--version"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return "no C++ compiler"
    return said.splitlines()[0]


def _measurements(shown: Sequence[Timing], measured: Sequence[Timing]) -> Iterator[str]:
    yield from markdown_table(
        (
            "workload",
            "network",
            "simulator",
            "M messages/s",
            "again",
            "end to end",
            "M ops/s",
            "before, s",
            "peak, MiB",
            "makespan, ms",
            "clue is",
            "and end to end",
        ),
        (
            (
                each.workload,
                each.setting.name,
                each.simulator,
                f"{each.rate / 1e6:.3g}",
                f"{each.again / 1e6:.3g}" if each.again else "",
                f"{each.end_to_end / 1e6:.3g}",
                f"{each.op_rate / 1e6:.3g}",
                f"{each.preparation:.2f}",
                f"{each.peak / (1 << 20):.0f}",
                f"{each.makespan * 1e3:.4g}",
                _times(each, measured, "rate"),
                _times(each, measured, "end_to_end"),
            )
            for each in shown
        ),
    )


def _times(other: Timing, measured: Sequence[Timing], figure: str) -> str:
    """Return by what factor clue is faster by a figure, in words."""
    mine = [
        each
        for each in measured
        if each.simulator == "clue"
        and (each.workload, each.messages, each.setting) == (other.workload, other.messages, other.setting)
    ]
    if not mine or other.simulator == "clue":
        return ""
    return f"{getattr(mine[0], figure) / getattr(other, figure):.3g} ×"
