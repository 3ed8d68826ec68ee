"""The figures of live execution, each with its goal."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from statistics import median
from typing import Any

from benchmarks.accuracy.self_scheduling.lines import PROGRAM
from benchmarks.live.processes import Live, stand, stand_plainly
from benchmarks.page import Goal

#: Goals: seconds per call, bytes of all processes, seconds to start, bytes per second.
CALL, MEMORY, START, SPEED = 50e-6, 1.5e9, 10.0, 1e9
CALLS = {
    "Send and Recv of 8 B": "pingpong",
    "Irecv, Isend, Waitall of 8 B": "nonblocking",
    "Allreduce of 8 B": "allreduce",
}


def call_goals(ranks: int, rounds: int) -> Iterator[Goal]:
    """Measure the cost of a call: a batch's processor time per call, median over batches; and its real time."""
    for figure, what in CALLS.items():
        said = Live("calls.py", (what, "--rounds", str(rounds)), ranks).output()
        batches = _json(said)
        real, used = ([batch[i] / batch[0] * 1e6 for batch in batches] for i in (1, 2))
        words = f"{median(used):.1f} us ({min(used):.1f} to {max(used):.1f}); real time {median(real):.1f} us"
        reached = median(used) <= CALL * 1e6
        yield Goal(f"{figure}, {ranks} ranks, a call", f"at most {CALL * 1e6:g} us", words, reached)


def payload_goals(sizes: Sequence[int]) -> Iterator[Goal]:
    """Measure the bandwidth of large messages, Send to Recv, median over messages."""
    for size in sizes:
        seconds = median(_json(Live("payload.py", ("--bytes", str(size))).output()))
        name = f"message of {size >> 20} MiB"
        yield Goal(name, f"at least {SPEED / 1e9:g} GB/s", f"{size / seconds / 1e9:.2f} GB/s", size / seconds >= SPEED)


def rank_goals(ranks: int) -> Iterator[Goal]:
    """Measure how long many ranks take to start, and their memory."""
    plain, few, many = stand_plainly(), stand(Live("stand.py", ranks=2)), stand(Live("stand.py", ranks=ranks))
    yield Goal(f"start of {ranks} ranks", f"at most {START:g} s", f"{many.seconds:.2f} s", many.seconds <= START)
    each = (many.memory - few.memory) / (ranks - 2)
    words = (
        f"{many.memory / 1e6:.0f} MB in {many.processes} processes, {each / 1e6:.2f} MB for each more rank; "
        f"one plain process of the program has {plain.memory / 1e6:.0f} MB"
    )
    yield Goal(f"{ranks} ranks, memory", f"at most {MEMORY / 1e9:g} GB", words, many.memory <= MEMORY)


def share_goal(options: Sequence[str], name: str) -> Goal:
    """Run a self-scheduled product with one fast and three slow workers, whose shares must follow their speed."""
    program = str(PROGRAM)
    live = Live(program, ("ss", "--n", "600", "--rows", "2"), 5, "fast-slow.yaml", tuple(options))
    rows = json.loads(re.findall(r"rows=(\[.*?\])", live.output())[0])
    wanted, share = 9 / 12, rows[0] / sum(rows)
    words = f"{share:.3f}: rows {', '.join(map(str, rows))}"
    return Goal(f"share of the fast worker, {name}", f"{wanted:g} ± 0.03", words, abs(share - wanted) <= 0.03)


def _json(said: str) -> list[Any]:
    """Return the JSON that a program printed, ignoring its other output."""
    found: list[Any] = json.loads(next(line for line in said.splitlines() if line.startswith("[")))
    return found
