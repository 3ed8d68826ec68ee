"""Measure simultaneous pairs: ``mpiexec -n 2P python -m clue.calibration.programs.measure_pairs SETTINGS``.

Ranks are paired across computers. For 1, 2, 4, … pairs and every size, the pairs of a turn start together and make
round trips for the same time. The time of each round trip is kept, except at the start and at the end, when not all
pairs may be active. Prints JSON lines (see :mod:`clue.calibration.launching`).
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections import Counter
from collections.abc import Sequence

from mpi4py import MPI

from clue.calibration.measurement import median_of
from clue.calibration.programs.measure_link import Progress
from clue.calibration.programs.output import alone, plain, put

#: Share of a turn's round trips that is discarded at its start, and at its end.
_LEFT_OUT = 0.1
#: Smallest and largest number of round trips of a turn.
_LEAST, _MOST = 10, 2000
_TURN = 0.05
#: Sleep interval of idle ranks, seconds.
_NAP = 1e-3


def paired(hosts: Sequence[str]) -> list[tuple[int, int]]:
    """Return pairs of ranks on different computers, first those that share no computer with earlier pairs.

    Ranks are sorted by computer; the first half communicates with the second half.
    """
    order = sorted(range(len(hosts)), key=lambda rank: (hosts.index(hosts[rank]), rank))
    half = len(order) // 2
    pairs = [(a, b) for a, b in zip(order[:half], order[half:], strict=False) if hosts[a] != hosts[b]]
    used: Counter[str] = Counter()
    spread: list[tuple[int, int]] = []
    while pairs:
        following = min(pairs, key=lambda pair: (used[hosts[pair[0]]] + used[hosts[pair[1]]], pair))
        pairs.remove(following)
        used.update(hosts[rank] for rank in following)
        spread.append(following)
    return spread


def numbers(most: int) -> list[int]:
    """Return 1, 2, 4, … and the largest number."""
    return sorted({min(most, 1 << k) for k in range(most.bit_length() + 1)} - {0})


def round_trips(comm: MPI.Comm, partner: int, first: bool, size: int, count: int, buffer: bytearray) -> list[float]:  # noqa: PLR0917
    """Make round trips with a partner; return, on the first of both, half of each, seconds."""
    message = [memoryview(buffer)[:size], MPI.BYTE]
    halves = []
    for _ in range(count):
        if first:
            start = time.perf_counter_ns()
            comm.Send(message, partner, 1)
            comm.Recv(message, partner, 1)
            halves.append((time.perf_counter_ns() - start) * 0.5e-9)
        else:
            comm.Recv(message, partner, 1)
            comm.Send(message, partner, 1)
    cut = int(count * _LEFT_OUT)
    return halves[cut : count - cut]


def turn(comm: MPI.Comm, pairs: Sequence[tuple[int, int]], size: int, seconds: float, buffer: bytearray) -> list[float]:
    """Let pairs make simultaneous round trips for a time; return, on rank 0, half of each round trip of all pairs."""
    mine = next((pair for pair in pairs if comm.rank in pair), None)
    partner = -1 if mine is None else mine[0] + mine[1] - comm.rank
    first = mine is not None and comm.rank == mine[0]

    def trips(count: int) -> list[float]:
        comm.Barrier()
        halves = [] if mine is None else round_trips(comm, partner, first, size, count, buffer)
        over = comm.Ibarrier()
        # Idle ranks sleep: a wait within MPI would take processor time from the active ones.
        while mine is None and not over.Test():
            time.sleep(_NAP)
        over.Wait()
        return halves

    longest = comm.allreduce(max(trips(_LEAST), default=0.0), op=MPI.MAX)
    count = max(_LEAST, min(_MOST, int(seconds / (2 * max(longest, 1e-7)))))
    gathered = comm.gather(trips(count), root=0)
    return [half for halves in gathered or [] for half in halves]


def measure(comm: MPI.Comm, settings: dict[str, object]) -> dict[str, object] | None:
    """Measure all numbers of pairs and all sizes in turns, until time is up; return the result on rank 0."""
    sizes = [int(size) for size in settings["sizes"]]  # type: ignore[attr-defined]
    limit = float(settings["time"])  # type: ignore[arg-type]
    computers = comm.allgather((MPI.Get_processor_name(), os.cpu_count() or 1))
    hosts = [f"{name}#{rank}" if settings["apart"] else name for rank, (name, _) in enumerate(computers)]
    pairs = paired(hosts)
    if not pairs:
        got = f"all on {hosts[0]}" if comm.size > 1 else f"one{alone(comm.size)}"
        return {"error": f"ranks must be on two computers at least, got {got}"} if comm.rank == 0 else None
    buffer = bytearray(max(sizes))
    cases = [(n, size) for size in sizes for n in numbers(len(pairs))]
    samples: dict[tuple[int, int], list[float]] = {case: [] for case in cases}
    progress = Progress(limit)
    turns = 0
    while comm.bcast(turns < _LEAST_TURNS or time.monotonic() < progress.begin + limit, root=0) and turns < _MOST_TURNS:
        for n, size in cases:
            if comm.rank == 0:
                progress.tell(f"{n} pairs, {size} B")
            samples[n, size] += turn(comm, pairs[:n], size, min(_TURN, limit / len(cases) / 4), buffer)
        turns += 1
    if comm.rank:
        return None
    found = _found(hosts, pairs, samples, float(settings["confidence"]))  # type: ignore[arg-type]
    return {**found, "crowded": crowded([computers[rank] for pair in pairs for rank in pair])}


def crowded(computers: Sequence[tuple[str, int]]) -> dict[str, tuple[int, int]]:
    """Return ranks and processors of each computer with more ranks than processors, given the computer of each rank."""
    ranks = Counter(name for name, _ in computers)
    return {name: (ranks[name], processors) for name, processors in computers if ranks[name] > processors}


#: Smallest and largest number of turns of each case.
_LEAST_TURNS, _MOST_TURNS = 2, 40


def _found(
    hosts: list[str], pairs: list[tuple[int, int]], samples: dict[tuple[int, int], list[float]], confidence: float
) -> dict[str, object]:
    rows = []
    for (n, size), halves in samples.items():
        rows.append({"pairs": n, "size": size, "one_way": plain(median_of(halves, confidence))})
    return {
        "hosts": hosts,
        "pairs": pairs,
        "rows": rows,
        "mpi": " ".join(MPI.Get_library_version().strip("\0\n ").splitlines()[0].split()),
    }


def main() -> None:
    """Measure and print."""
    comm = MPI.COMM_WORLD
    result = measure(comm, json.loads(sys.argv[1]))
    if result is not None:
        put(result if "error" in result else {"result": result})


if __name__ == "__main__":
    main()
