"""The generated programs in Python and C, as their users run them: options, output and refusals."""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from clue.skeleton import construct
from clue.skeleton.c import c_program
from clue.skeleton.python import python_program
from clue.skeleton.statements import AlongBits, Compute, Loop, Sum
from clue.skeleton.tree import statements_of
from clue.trace import Flag, Op, Trace, TraceBuilder
from clue.trace.builder import RankBuilder
from tests.skeleton.running import about, compiled, document_of, mpicc, ran, written
from tests.steady.programs import looped

pytest.importorskip("mpi4py.MPI", reason="mpi4py and an MPI library must be there", exc_type=ImportError)

LANGUAGES = ["python", pytest.param("c", marks=pytest.mark.skipif(mpicc() is None, reason="mpicc must be there"))]
#: A program name that would end a comment or string, begin a line, or is not ASCII.
HOSTILE = 'a"""\nimport os  # */ /* \\ \x1b[2J é {brace} %s ??/'


def body(own: RankBuilder, rank: int, i: int) -> None:
    """Exchange around a ring, and reduce."""
    own.compute(1e-4 * (1 + i % 3), "solve")
    own.sendrecv((rank + 1) % 2, 800, (rank - 1) % 2)
    own.compute(3e-5)
    own.collective(Op.ALLREDUCE, 8, element=8)


def command(language: str, trace: Trace, folder: Path) -> list[str]:
    """Return the command that runs the program in this language."""
    return [str(compiled(trace, folder))] if language == "c" else [sys.executable, str(written(trace, folder))]


@pytest.fixture(params=LANGUAGES, scope="module")
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Return the command of a program of two ranks, in each language."""
    return command(request.param, looped(2, 6, body), tmp_path_factory.mktemp("program"))


def test_json_has_the_keys_of_the_interface(program: Sequence[str]) -> None:
    """One rank prints one JSON object; its time is the median of the runs."""
    document = document_of(ran(program, 2, "--json", "--repeats", "3"))
    keys = ("skeleton", "recording", "ranks", "seconds", "scale", "application", "runs", "host", "compute")
    assert tuple(document) == keys
    told = ["0123456789abcdef", "fedcba9876543210", 2, 3.0, 60.0]
    assert [document[key] for key in keys[:3] + keys[4:6]] == told
    assert document["seconds"] == pytest.approx(sorted(document["runs"])[1])
    assert len(document["host"]) == 1
    assert 0 <= document["compute"] <= 1


def test_a_run_says_what_the_application_would_take(program: Sequence[str], tmp_path: Path) -> None:
    """A run prints the application's time by the scale, or by the dedicated time of the skeleton if that is given."""
    done = ran(program, 2)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("measured ")
    assert " s x 3 = " in done.stdout
    assert done.stdout.endswith(" s here (recorded: 60 s)\n")
    dedicated = tmp_path / "dedicated.json"
    dedicated.write_text(json.dumps({"skeleton": "0123456789abcdef", "seconds": 2.5}))
    assert " s x 60 s / 2.5 s = " in ran(program, 2, "--dedicated", str(dedicated)).stdout
    # The JSON output then has all that a prediction needs.
    assert document_of(ran(program, 2, "--json", "--dedicated", str(dedicated)))["dedicated"] == 2.5
    # 60 s less 3 × 0.5 s of communication are 29.25 times the 2 s of computation.
    dedicated.write_text(json.dumps({"skeleton": "0123456789abcdef", "seconds": 2.5, "compute": 0.8}))
    said = ran(program, 2, "--dedicated", str(dedicated)).stdout
    assert " s of computation x 29.25 + " in said and " s of communication x 3 = " in said
    run = document_of(ran(program, 2, "--json", "--dedicated", str(dedicated)))
    assert (run["dedicated"], run["dedicated_compute"]) == (2.5, 0.8)


def test_another_number_of_ranks_is_refused(program: Sequence[str]) -> None:
    """With another number of ranks, one rank prints an error, and all end without waiting for each other."""
    for ranks in (1, 3):
        done = ran(program, ranks)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.splitlines()[0] == f"{program[-1]}: must run on 2 ranks, got {ranks}"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--repeats", "0"], "must be a whole number of at least 1, got"),
        (["--repeats", "1e3"], "must be a whole number of at least 1, got"),
        (["--often"], "--often"),
        (["--dedicated", "missing.json"], "missing.json: file must be what this program prints with --json"),
    ],
)
def test_bad_options_are_refused(program: Sequence[str], options: Sequence[str], said: str) -> None:
    """Wrong options end all ranks with status 2, and the error is printed once."""
    done = ran(program, 2, *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count(said) == 1


@pytest.mark.parametrize("content", ["", "[]", '{"skeleton": "fedcba9876543210", "seconds": 2}', '{"seconds": 2}'])
def test_a_run_of_another_skeleton_is_recognised(program: Sequence[str], content: str, tmp_path: Path) -> None:
    """The output of another skeleton, and a file that is no output, are refused as dedicated run."""
    other = tmp_path / "other.json"
    other.write_text(content)
    done = ran(program, 2, "--dedicated", str(other))
    assert (done.returncode, done.stdout) == (2, "")
    assert "0123456789abcdef" in done.stderr or "--json" in done.stderr


def test_a_program_reads_like_the_application() -> None:
    """The program has loops and calls with their call sites as comments, and no unused helpers."""
    text = python_program(statements_of(looped(2, 6, body)), about(looped(2, 6, body)))
    program = text[text.index("def program") : text.index("# --- messages")]
    assert program.splitlines() == [
        "def program(burst):",
        '    """Do what the application does, but less often."""',
        "    for _ in range(6):  # loop.py:10",
        "        compute(burst[0])  # 200 us in solve",
        "        # loop.py:101",
        "        world.Sendrecv(data[:800], dest=(rank + 1) % RANKS, sendtag=0, recvbuf=room, "
        "source=(rank + 1) % RANKS, recvtag=0)",
        "        compute(burst[1])  # 30 us",
        "        world.Allreduce([data, 1, MPI.DOUBLE], [room, 1, MPI.DOUBLE], op=MPI.SUM)  # loop.py:102",
        "    compute(burst[2])  # 250 ms",
        "",
        "",
    ]
    assert "def wait_for" not in text
    assert "TABLES" not in text


def test_the_command_in_the_head_quotes_a_name_with_blanks() -> None:
    """The command that runs a program can be copied from its head, whatever its name."""
    trace = looped(2, 6, body)
    said = about(trace, file="my skeleton.py")
    assert "\n    mpiexec -n 2 python 'my skeleton.py'\n" in python_program(statements_of(trace), said)


def test_names_of_a_trace_mean_nothing_in_a_program() -> None:
    """Names from a trace occur in comments and strings only, and end none of them."""
    built = TraceBuilder(1, HOSTILE)
    built[0].compute(1e-3, HOSTILE)
    built[0].collective(Op.ALLREDUCE, 8, comm=built.communicator((0,), HOSTILE))
    trace = built.build()
    said = about(trace)
    said = replace(said, caveats=(HOSTILE,), file=HOSTILE, program=HOSTILE, recorded=HOSTILE)
    tree = ast.parse(python_program(statements_of(trace), said))
    assert not [each for each in ast.walk(tree) if isinstance(each, ast.Import) and each.names[0].name == "os"]
    text = c_program(statements_of(trace), said)
    assert text.count("/*") == text.count("*/")
    assert "import os" not in text.splitlines()
    assert text.isascii()


def test_bursts_of_a_program_are_those_of_its_trace() -> None:
    """On each rank, the bursts of a place have the exact sum of the trace's; a repeating pattern of 37 is kept."""
    trace = looped(2, 100, lambda own, rank, i: own.compute(1e-6 * (i * i % 37 + rank)) or own.collective(Op.BARRIER))  # type: ignore[func-returns-value]
    statements = statements_of(trace)
    place = statements.places[0]
    for rank in range(2):
        done = [place.bursts[rank][i % len(place.bursts[rank])] for i in range(100)]
        assert len(place.bursts[rank]) == 37  # the pattern repeats after 37 bursts
        assert sum(done) == pytest.approx(sum(1000 * (i * i % 37 + rank) for i in range(100)), rel=1e-12)


def test_computation_before_messages_along_bits_is_kept() -> None:
    """A tenth of 200 × (10 ms, a lower-case reduce, recorded as two messages) is 20 × 10 ms on each of two ranks."""
    built = TraceBuilder(2, "app.py")
    for rank, own in enumerate(built):
        for _ in range(200):
            own.compute(1e-2)
            for nbytes, again in ((8, Flag(0)), (15, Flag.CONTINUED)):
                op, sent = (Op.SEND, nbytes) if rank else (Op.RECV, 0)
                own.add(op, peer=1 - rank, nbytes=sent, flags=Flag.PICKLED | again, call="reduce")
    trace = construct(built.build(), scale=10).trace
    statements = statements_of(trace)
    (loop,) = statements.body
    assert isinstance(loop, Loop)
    assert (loop.times, [type(each) for each in loop.body]) == (Sum(20), [Compute, AlongBits])
    assert [each.bursts for each in statements.places] == [{0: (1e7,), 1: (1e7,)}]
    assert re.search(r"compute\(burst\[0\]\).*\n +along_bits\(", python_program(statements, about(trace)))
    assert re.search(r"compute\(0\);.*\n +along_bits\(", c_program(statements, about(trace)))


def test_two_calls_that_differ_are_no_loop() -> None:
    """Two broadcasts with different size and type, as lower-case bcast makes them, do not become a loop."""
    built = TraceBuilder(2, "app.py")
    for own in built:
        own.collective(Op.BCAST, 8, root=1, element=8)
        own.collective(Op.BCAST, 117, root=1, element=1)
    trace = built.build()
    text = python_program(statements_of(trace), about(trace))
    assert "    world.Bcast([room, 1, MPI.DOUBLE], root=1)\n    world.Bcast([room, 117, MPI.BYTE], root=1)\n" in text


@pytest.mark.parametrize(
    ("naps", "python", "c"),
    [
        ((500_000, 500_000, 500_000), "sleep(500_000 * 1e-9)", "rest(500000);"),
        ((1000, 2000, 3000), "sleep((1_000 * rank + 1_000) * 1e-9)", "rest(1000 * rank + 1000);"),
        ((7, 900, 900), "sleep((7 if rank == 0 else 900) * 1e-9)", "rest((rank == 0 ? 7 : 900));"),
    ],
)
def test_a_program_sleeps_as_long_as_its_trace(naps: Sequence[int], python: str, c: str) -> None:
    """Sleeps of equal length, of a length that grows with the rank, and of one that differs on the first rank."""
    built = TraceBuilder(len(naps), "app.py")
    for own, nap in zip(built, naps, strict=True):
        own.add(Op.SLEEP, nbytes=nap)
    trace = built.build()
    assert f"    {python}\n" in python_program(statements_of(trace), about(trace))
    assert f"    {c}\n" in c_program(statements_of(trace), about(trace))


@pytest.mark.skipif(mpicc() is None, reason="mpicc must be there")
def test_ranks_sleep_for_seconds_that_grow_with_the_rank(tmp_path: Path) -> None:
    """Ranks that sleep for 0, 1.1 and 2.2 s: 2.2e9 ns are more than an int of 32 bits holds."""
    built = TraceBuilder(3, "app.py")
    for rank, own in enumerate(built):
        own.add(Op.SLEEP, nbytes=1_100_000_000 * rank)
    assert document_of(ran(command("c", built.build(), tmp_path), 3, "--json"))["seconds"] > 2.19


def test_lists_of_a_call_under_way_stay_as_they_are() -> None:
    """With three Alltoallv during an Ialltoallv, a program in C keeps 4 × 2 lists: none of these is overwritten."""
    built = TraceBuilder(2, "app.py")
    for own in built:
        request = own.icollective(Op.ALLTOALLV, extras=(1, 2))
        for i in range(3):
            own.collective(Op.ALLTOALLV, extras=(3 + i, 4))
        own.wait(request)
        own.collective(Op.ALLTOALLV, extras=(1, 2))
    trace = built.build()
    assert "enum { RANKS = 2, ROOMS = 1, VECTORS = 8, OLDEST = 1 };\n" in c_program(statements_of(trace), about(trace))


def idup(own: RankBuilder, other: int) -> None:
    """Begin a constructor of a communicator and a receive; wait for the older one, send, and wait for the other."""
    made, taken = own.icollective(Op.COMM), own.irecv(other)
    own.wait(made)
    own.send(other, 10)
    own.wait(taken)


def test_a_constructor_that_returns_a_request_is_a_call_that_does() -> None:
    """An Idup becomes an Iallreduce of 8 B, so the waits for it and for the receive after it name these two."""
    built = TraceBuilder(2, "app.py")
    for rank, own in enumerate(built):
        idup(own, 1 - rank)
    trace = built.build()
    text = python_program(statements_of(trace), about(trace))
    assert text[text.index("    requests.append(") : text.index("# --- messages")].splitlines() == [
        "    requests.append(world.Iallreduce([data, 1, MPI.DOUBLE], [next(rooms), 1, MPI.DOUBLE], op=MPI.SUM))",
        "    requests.append(world.Irecv(next(rooms), source=(rank + 1) % RANKS, tag=0))",
        "    wait_for(1)",
        "    world.Send(data[:10], dest=(rank + 1) % RANKS)",
        "    wait_for(0)",
        "",
        "",
    ]
    text = c_program(statements_of(trace), about(trace))
    assert "    MPI_Iallreduce(data, next_room(), 1, MPI_DOUBLE, MPI_SUM, world->comm, request());\n" in text


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_constructor_that_returns_a_request_waits_for_nobody(language: str, tmp_path: Path) -> None:
    """A rank sends after its Idup has begun, and the other one begins its own when it has received: both end."""
    built = TraceBuilder(2, "app.py")
    one, other = built
    made = one.icollective(Op.COMM)
    one.send(1, 10)
    other.recv(0)
    one.wait(made)
    other.wait(other.icollective(Op.COMM))
    assert document_of(ran(command(language, built.build(), tmp_path), 2, "--json"))["ranks"] == 2


@pytest.mark.parametrize("language", LANGUAGES)
def test_one_rank_is_said_in_the_singular(language: str, tmp_path: Path) -> None:
    """The head, a run and a refusal of a program of one rank say "1 rank"."""
    words = command(language, looped(1, 6, lambda own, *_: own.collective(Op.BARRIER)), tmp_path)
    (source,) = (path for path in tmp_path.iterdir() if path.suffix in {".py", ".c"})
    assert " on 1 rank: " in source.read_text()
    assert " on 1 rank; the application" in ran(words, 1).stdout
    assert ran(words, 2).stderr.splitlines()[0] == f"{words[-1]}: must run on 1 rank, got 2"
