"""``clue inspect TRACE --loops``: the loops of a program, as text and as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from clue.cli import main
from clue.trace import Op, TraceBuilder
from tests.structure.test_compression import agreeing


@pytest.fixture
def trace(tmp_path: Path) -> str:
    """Save a program of four ranks: halo exchanges with an allreduce now and then, and a factorisation."""
    built = TraceBuilder(4, "halo.py")
    for rank, own in enumerate(built):
        after, before = rank + 1 if rank < 3 else -1, rank - 1
        for _ in range(12):
            for _ in range(10):
                own.compute(0.002)
                own.sendrecv(after, 8192, before)
            own.compute(0.5e-3)
            own.collective(Op.ALLREDUCE, 8)
        for i in range(5):
            own.collective(Op.BCAST, 4000 - 800 * i, i % 4)
            for _ in range(5 - i):
                own.compute(1e-3)
                own.send((rank + 1) % 4, 64)
                own.recv((rank - 1) % 4)
        if rank == 0:
            own.recv(3)
        if rank == 3:
            own.send(0, 500)
    return str(built.build().save(tmp_path / "halo.clue"))


EXPECTED = """\
halo.clue as loops

ranks   4
ops     1,630
tokens  17: 95.9 ops a token

program                                                                       ranks  calls  mean burst
──────────────────────────────────────────────────────────────────────────────────────────────────────
12 ×                                                                          all
  10 ×                                                                        all
    Sendrecv 8.192 KB to rank + 1 (nobody on 3), from rank − 1 (nobody on 0)  all      480        2 ms
  Allreduce 8 B                                                               all       48      500 us
5 × (i from 0)                                                                all
  Bcast 4 KB − 800 B·i root (0, 1 … 3, 0)                                     all       20         0 s
  5 − i ×                                                                     all
    Send 64 B to rank + 1                                                     all       60        1 ms
    Recv from rank − 1                                                        all       60         0 s
Recv from rank − 1                                                            0          1         0 s
Send 500 B to rank + 1                                                        3          1         0 s
"""


def test_a_program_as_loops(trace: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The table has loop counts, partners relative to the own rank, sizes by iteration, ranks, calls and bursts."""
    assert main(["inspect", trace, "--loops"]) == 0
    shown = "\n".join(line.rstrip() for line in capsys.readouterr().out.splitlines()) + "\n"
    assert shown == EXPECTED


def test_the_same_as_json(trace: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Numbers that are equal everywhere are plain values; others are expressions, listed with their ranks."""
    assert main(["inspect", trace, "--loops", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["ranks"], document["ops"]) == (4, 1630)
    first, second, *_ = document["parts"]
    assert (first["ranks"], first["repeated"]) == ([0, 1, 2, 3], 12)
    agree = first["body"][1]
    assert (agree["call"], agree["op"], agree["ops"], agree["numbers"]["nbytes"]) == ("Allreduce", "ALLREDUCE", 48, 8)
    assert agree["burst"] == pytest.approx(0.5e-3)
    (sizes,) = second["body"][0]["numbers"]["nbytes"]
    assert (sizes["ranks"], sizes["base"], sizes["steps"]) == ([0, 1, 2, 3], 4000, [-800, 0])


def test_messages_along_bits_are_told_as_one_call(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Messages to partners that differ in a bit of the rank are shown as one call; op counts sum to the trace's."""
    path = str(agreeing(8).save(tmp_path / "reduce.clue"))
    assert main(["inspect", path, "--loops"]) == 0
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    told = "reduce 8 B, 21 B along bits (to rank ^ 2^k where bit k of the rank is set, else from it) all 24 0 s"
    assert told in " ".join(lines)
    assert main(["inspect", path, "--loops", "--json"]) == 0
    loop, barrier = json.loads(capsys.readouterr().out)["parts"]
    assert [each["along_bits"] for each in loop["body"]] == [True, True] and not barrier["along_bits"]
    assert sum(each["ops"] for each in (*loop["body"], barrier)) == len(agreeing(8).ops)


def test_numbers_that_wrap_are_told_as_they_are(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Rank 0 sends 8, 16 and 24 B to ranks 1, 2 and 3 in turn: by hand, the first of them are 8 B and rank 1."""
    built = TraceBuilder(4, "turns.py")
    for i in range(12):
        built[0].send(1 + i % 3, 8 + 8 * (i % 3))
        built[1 + i % 3].recv(0)
    assert main(["inspect", str(built.build().save(tmp_path / "turns.clue")), "--loops"]) == 0
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "12 × (i from 0) Send 8 B + (8 B·i) mod 24 B to 1 + (i) mod 3 0 12 0 s" in lines


@pytest.mark.parametrize(("requests", "told"), [((0,), "1 request"), ((0, 1), "2 requests")])
def test_one_request_is_told_in_the_singular(
    requests: tuple[int, ...], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A call that waits for one request says so, as one that waits for two does."""
    built = TraceBuilder(2, "waits.py")
    for request in requests:
        built[0].add(Op.IRECV, call="Irecv", peer=1, request=request)
        built[1].send(0, 8)
    built[0].add(Op.WAIT, call="Waitall", extras=requests)
    assert main(["inspect", str(built.build().save(tmp_path / "waits.clue")), "--loops"]) == 0
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert f"Waitall for {told} 0 1 0 s" in lines
