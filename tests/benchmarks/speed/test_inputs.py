"""The workloads in the formats of other simulators have the same messages."""

import struct
from pathlib import Path

import pytest

from benchmarks.speed.inputs import Do, steps, write_goal, write_ti
from benchmarks.speed.workloads import BenchProgram, BurstLengths, allreduce, alltoall, halo, pipeline, ring

SMALL = [halo(16, 1500), ring(4, 40), pipeline(4, 40), alltoall(8, 500, library="openmpi"), allreduce(8, 500)]


def _name(workload: BenchProgram) -> str:
    return workload.name


@pytest.mark.parametrize("workload", SMALL, ids=_name)
def test_steps_hold_all_messages(workload: BenchProgram) -> None:
    """The steps of all ranks have exactly the workload's sends and receives."""
    done = [step.do for rank in range(workload.trace.ranks) for step in steps(workload, rank)]
    assert done.count(Do.SEND) + done.count(Do.ISEND) == workload.messages
    assert done.count(Do.RECV) + done.count(Do.IRECV) == workload.messages


@pytest.mark.parametrize("workload", SMALL, ids=_name)
def test_goal_ranks_lie_end_to_end(workload: BenchProgram, tmp_path: Path) -> None:
    """A binary schedule stores its ranks one after the other, and the dependencies of each rank add up."""
    data = write_goal(workload, tmp_path / "schedule.bin").read_bytes()
    cookie, ranks = struct.unpack_from("<QI", data)
    assert (cookie, ranks) == (4223, workload.trace.ranks)
    data = data[8:]
    bounds = struct.unpack_from(f"<{2 * ranks}Q", data, 6)
    assert bounds[1:-1:2] == bounds[2::2]
    assert (bounds[0], bounds[-1]) == (6 + 16 * ranks, len(data))
    for begin, end in zip(bounds[::2], bounds[1::2], strict=True):
        nodes, roots = struct.unpack_from("<2I", data, begin)
        assert roots >= 1
        first = begin + 8 + 4 * roots
        found = [struct.unpack_from("<IBIQIBBIIII", data, first + 39 * i) for i in range(nodes)]
        edges = sum(node[0] for node in found)
        assert edges == sum(node[7] for node in found) == (end - first - 39 * nodes) // 4


def test_ti_of_a_pipeline(tmp_path: Path) -> None:
    """The middle rank of a pipeline receives, computes and sends; 1 ns is one operation."""
    workload = pipeline(3, messages=2, nbytes=1000, bursts=BurstLengths(seconds=1e-3, jitter=0.0))
    listed = write_ti(workload, tmp_path).read_text().splitlines()
    assert len(listed) == 3
    assert Path(listed[1]).read_text().splitlines() == [
        "1 init",
        "1 recv 0 0 1000",
        "1 compute 1000000",
        "1 send 2 0 1000",
        "1 finalize",
    ]
