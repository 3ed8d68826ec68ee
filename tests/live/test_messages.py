"""Messages between rank processes: what is sent arrives, whatever the kernel's times."""

from __future__ import annotations

from pathlib import Path

import pytest

from clue.trace.calls import LiveOp
from tests.live import fake_kernel

pytest.importorskip("mpi4py.MPI", reason="mpi4py and an MPI library must be there", exc_type=ImportError)


def run(tmp_path: Path, text: str, ranks: int) -> fake_kernel.FakeKernel:
    """Run a program, which must end well on all ranks."""
    program = tmp_path / "program.py"
    program.write_text(text)
    kernel = fake_kernel.run((str(program),), ranks)
    assert {rank: call.op for rank, call in kernel.ended.items()} == dict.fromkeys(range(ranks), LiveOp.END)
    assert all(call.nbytes == 0 for call in kernel.ended.values())
    return kernel


@pytest.mark.parametrize("length", [0, 10, 16385, 1_000_000])
def test_a_message_arrives_as_it_was_sent(tmp_path: Path, length: int) -> None:
    """Bytes, count, source and tag are the sender's, whether inline or through shared memory."""
    text = f"""
from mpi4py import MPI
comm, status = MPI.COMM_WORLD, MPI.Status()
assert comm.rank == comm.Get_rank() and comm.size == comm.Get_size() == 3
data = bytes(i % 251 for i in range({length}))
if comm.rank == 0:
    for other in (1, 2):
        comm.Send(data, other, tag=6 + other)
else:
    found = bytearray({length} + 5)
    comm.Recv(found, MPI.ANY_SOURCE, MPI.ANY_TAG, status)
    assert bytes(found[:{length}]) == data
    assert (status.source, status.tag, status.Get_count(MPI.BYTE)) == (0, 6 + comm.rank, {length})
"""
    run(tmp_path, text, 3)


def test_a_receive_that_is_too_small_is_told_by_the_real_library(tmp_path: Path) -> None:
    """Truncation is MPI's own error, of its own class."""
    text = """
from mpi4py import MPI
comm = MPI.COMM_WORLD
if comm.rank == 0:
    comm.Send(bytes(10), 1)
else:
    try:
        comm.Recv(bytearray(9), 0)
    except MPI.Exception as error:
        assert error.Get_error_class() == MPI.ERR_TRUNCATE
    else:
        raise AssertionError
"""
    run(tmp_path, text, 2)
