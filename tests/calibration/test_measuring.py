"""The measuring programs under a real MPI: a short measurement is complete and makes a machine."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from clue.calibration import network
from clue.calibration.contention import measure_pairs
from clue.calibration.launching import launcher, run_program
from clue.calibration.link import fit_link
from clue.calibration.network import calibrate_link, measure_link
from clue.calibration.programs import measure_link as measure_link_program
from clue.calibration.programs.measure_link import LinkProbe
from clue.calibration.programs.measure_link import Progress as Told
from clue.calibration.programs.measure_pairs import crowded
from clue.errors import ClueError, UsageError
from clue.machine import Progress
from clue.recording import find_mpiexec

if TYPE_CHECKING:
    from mpi4py import MPI


def test_a_link_is_measured_here() -> None:
    """Two ranks here give positive times with intervals for each size, progress messages, and a link."""
    told: list[str] = []
    sizes = (0, 8, 1024, 65536, 1 << 20)
    found = measure_link([find_mpiexec()], sizes=sizes, seconds=3.0, report=lambda what, *_, **__: told.append(what))
    # A busy computer may not reach the largest sizes; the notes then name them.
    measured = {row.size for row in found.rows}
    assert measured >= set(sizes[:3])
    assert measured >= set(sizes) or "were left out" in "\n".join(found.notes)
    for row in found.rows:
        assert row.one_way is not None and row.blocked is not None
        for estimate in (row.one_way, row.blocked):
            assert 0 < estimate.low <= estimate.value <= estimate.high
            assert estimate.repetitions >= 3
    assert found.same_host and found.mpi and found.date
    assert found.receive is not None and found.receive.value > 0
    assert told
    assert found.reduction is not None and 0 < found.reduction.value < 1e-7
    assert not found.shared  # both directions at once are a question of a network
    calibration = calibrate_link(found)
    assert len(calibration.residuals.one_way) == len(found.rows)
    assert fit_link(found).link.receive_delay > 0


class Supposed(LinkProbe):
    """A fake link whose half round trips take given times; nothing is sent."""

    def __init__(self, latency: float, per_byte: float) -> None:
        super().__init__(cast("MPI.Comm", None), bytearray(0), 0.02, 0.95, Told(1.0))
        self.latency, self.per_byte = latency, per_byte

    def round_trips(self, size: int, count: int) -> None:
        """Record the assumed half round trips."""
        self.halves.setdefault(size, []).extend([self.latency + size * self.per_byte] * count)


@pytest.mark.parametrize(
    ("latency", "per_byte", "measured"),
    [
        # Ranks wait 2 ms for their turn: 1 KiB takes no longer than 8 B, but 64 KiB could take 64 times as long.
        (2e-3, 0.0, [0, 8, 1024]),
        # With 10 us and 10 GB/s, all sizes are measured.
        (10e-6, 1e-10, [0, 8, 1024, 65536, 1 << 20]),
        # At 1 MB/s, 64 KiB take 66 ms and nine round trips 1.2 s, but only 0.41 s are left.
        (10e-6, 1e-6, [0, 8, 1024]),
    ],
)
def test_sizes_are_left_out_by_what_grows_with_size(latency: float, per_byte: float, measured: list[int]) -> None:
    """In 1.65 s, sizes are left out by the time that grows with size; a long latency leaves out no small size."""
    assert Supposed(latency, per_byte).first_turn((0, 8, 1024, 65536, 1 << 20), 1.65) == measured


def test_what_needs_two_computers_is_refused_on_one_before_anything_is_measured() -> None:
    """Ranks on one computer are refused at once, with the option that needs two."""
    told: list[str] = []
    with pytest.raises(ClueError, match="ranks must be on two computers for --nodes 4, got both on "):
        measure_link([find_mpiexec()], sizes=(0, 8), apart="--nodes 4", report=lambda what, *_, **__: told.append(what))
    assert not told


class Polled(Supposed):
    """A fake link whose senders wait for the receive from a size on, whatever the receiver's rank does."""

    def __init__(self, limit: int) -> None:
        super().__init__(1e-6, 0.0)
        self.limit = limit

    def sender_waits(self, size: int, how: int = measure_link_program._WAIT) -> bool:
        """Tell whether a sender waits; below the limit only while the receiver's rank makes no calls."""
        assert how != measure_link_program._EARLY
        return size >= self.limit or how != measure_link_program._POLL


@pytest.mark.parametrize(("limit", "found"), [(4096, (1024, 4096)), (1, (None, 256)), (1 << 30, (65536, None))])
def test_what_a_library_takes_is_told_by_a_receiver_in_other_calls(
    limit: int, found: tuple[int | None, int | None]
) -> None:
    """A sender that is released although no receive is posted waited for an acknowledgement."""
    assert Polled(limit).taken((256, 1024, 4096, 65536), time.monotonic() + 60) == found


@pytest.mark.parametrize(
    ("limit", "eager", "size"),
    [
        (1, 0, 0),  # every message with data waits: an empty one arrives
        (0, None, None),  # every message waits, whether the search for the eager limit got so far or not
        (0, 8, 8),  # known to arrive: not tried
        (9, 4, 8),  # 8 B wait for an acknowledgement, which a rank in other calls gives
        (1024, None, 8),  # the smallest size tried waits, but 8 B do not
    ],
)
def test_a_receive_is_timed_with_a_message_that_arrives_before_it(
    limit: int, eager: int | None, size: int | None
) -> None:
    """Behind a message whose sender waits for its receive, no later one of the same sender would arrive."""
    assert Polled(limit).arriving(eager) == size


def test_a_receive_that_cannot_be_timed_is_an_assumption(monkeypatch: pytest.MonkeyPatch) -> None:
    """If even empty messages wait, no receive is timed; a fifth of an empty message's time is used: 2 of 10 us."""
    found = {**FOUND, "receive": None, "exchange": None, "eager": None, "waits": 0}
    monkeypatch.setattr(network, "run_program", lambda *_: found)
    measurement = measure_link([find_mpiexec()])
    assert measurement.receive is None
    fitted = fit_link(measurement)
    assert fitted.link.receive_delay == pytest.approx(2e-6)
    assert "receive delay: not measured; a fifth of an empty message's time is used" in fitted.assumptions


@pytest.mark.parametrize(("gap", "said"), [(5.2e-6, False), (10e-6, True)])
def test_directions_that_slow_each_other_are_told(monkeypatch: pytest.MonkeyPatch, gap: float, said: bool) -> None:
    """A stream takes 10 us per message: both ways at once, 10 us per message of both are no faster than one way."""
    stream, both = ({"size": 4096, "gap": [each] * 3 + [9], "window": 64} for each in (10e-6, gap))
    found = {**FOUND, "rows": [*ROWS[:-1], {**TIMES, **stream}], "both": [both]}
    monkeypatch.setattr(network, "run_program", lambda *_: found)
    assumptions = fit_link(measure_link([find_mpiexec()])).assumptions
    text = "ports: both directions at once carry 1.00 times as much as one at 4.096 KB"
    assert any(text in each for each in assumptions) == said


def test_a_search_without_time_finds_nothing() -> None:
    """If time is up before the first trial, nothing is known of acknowledgements."""
    assert Polled(4096).taken((256, 1024), time.monotonic() - 1) == (None, None)


TIMES = {"one_way": [1e-5, 9e-6, 1.1e-5, 9], "blocked": [2e-6, 2e-6, 2e-6, 9]}
ROWS = [{"size": size, **TIMES} for size in (0, 128, 4096)]
FOUND = {
    "rows": ROWS,
    "receive": [1e-6, 1e-6, 1e-6, 9], "exchange": [3e-6, 3e-6, 3e-6, 9], "both": [],
    "reduction": [1e-10, 1e-10, 1e-10, 9], "eager": 128, "waits": 129,
    "taken": None, "refused": None, "in_calls": True, "reads": None,
    "hosts": ["a", "b"], "mpi": "MPI", "left_out": [8192, 16384],
}  # fmt: skip


@pytest.mark.parametrize(
    ("taken", "refused", "limit"), [(None, None, 128), (None, 4096, 128), (4096, None, None), (128, 4096, 128)]
)
def test_the_eager_limit_is_by_what_a_library_takes(
    taken: int | None, refused: int | None, limit: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the receiver's library takes messages before their receive, a blocked sender waits for its acknowledgement.

    The notes state the sizes left out and the precision missed.
    """
    monkeypatch.setattr(network, "run_program", lambda *_: {**FOUND, "taken": taken, "refused": refused})
    found = measure_link([find_mpiexec()])
    fitted = fit_link(found)
    assert (fitted.link.eager_limit, fitted.link.acknowledged_from) == (limit, None if taken is None else 129)
    assert fitted.progress is Progress.CALLS
    said = "\n".join(found.notes)
    assert "messages from 8.192 KB on were left out" in said
    assert "vary too much for a precision of 2%, at worst 10%" in said


def test_pairs_are_measured_here() -> None:
    """Four ranks, each as its own node, give times of one and two pairs at both sizes."""
    found = measure_pairs([find_mpiexec()], 4, sizes=(64, 4096), seconds=1.0, node_per_rank=True)
    assert {(row.pairs, row.size) for row in found.rows} == {(1, 64), (2, 64), (1, 4096), (2, 4096)}
    assert found.nodes == ((0, 2), (1, 3))
    assert set(found.slowdowns()) == {(2, 64), (2, 4096)}


def test_pairs_of_one_computer_are_refused() -> None:
    """Pairs on one computer are refused with the program's own message, as contention is between nodes."""
    with pytest.raises(ClueError, match="two computers at least"):
        measure_pairs([find_mpiexec()], 4, sizes=(8,), seconds=1.0)


def test_pairs_that_cannot_be_compared_are_not_measured() -> None:
    """Fewer than two pairs, and a repeated size, are refused."""
    with pytest.raises(UsageError, match="simultaneous pairs must be at least 2, got 1"):
        measure_pairs([find_mpiexec()], 2, sizes=(8, 64))
    with pytest.raises(UsageError, match="sizes must differ, got 8 B, 8 B"):
        measure_pairs([find_mpiexec()], 4, sizes=(8, 8))


def test_computers_with_more_ranks_than_processors_are_told() -> None:
    """Three ranks on two processors are too many; two are not."""
    assert crowded([("a", 2), ("b", 2), ("a", 2), ("b", 2), ("a", 2)]) == {"a": (3, 2)}


def test_a_launcher_must_be_known_to_take_hosts() -> None:
    """Hosts are passed by options of a known launcher; an unknown or missing launcher is refused."""
    command = launcher([find_mpiexec()], 4, ["a", "b"])
    assert command[-2:] == ["-n", "4"]
    assert any("a" in word and "b" in word for word in command)
    with pytest.raises(UsageError, match="hosts must be named by the launcher's own options"):
        launcher([sys.executable], 2, ["a", "b"])
    assert launcher([sys.executable, "run.py", "-n={ranks}", "--"], 2) == [sys.executable, "run.py", "-n=2", "--"]
    with pytest.raises(UsageError, match="its own options"):
        launcher([sys.executable, "{ranks}"], 2, ["a", "b"])
    for nothing in ([], ["no-such-command"]):
        with pytest.raises(UsageError, match="must be a command"):
            launcher(nothing, 2)


@pytest.mark.parametrize("host", ["-oProxyCommand=id", "a b", "a;b", "$(id)", "", "a,b", "ä", "a\nb", "h" * 300])
def test_hosts_are_names(host: str) -> None:
    """A host that could be an option or a command for ssh or a shell is refused."""
    with pytest.raises(UsageError, match="hosts must be names of letters, digits, dots, hyphens and underscores"):
        launcher([find_mpiexec()], 2, ["a", host])


def test_a_program_without_a_result_is_an_error_with_its_last_words() -> None:
    """A program that is started without MPI's launcher has one rank, and its error message is passed on."""
    with pytest.raises(ClueError, match=r"ranks must be 2, got 1, alone: use the launcher of the MPI that mpi4py uses"):
        run_program([], "measure_link", {}, 1.0)


def test_labels_before_lines_are_named(tmp_path: Path) -> None:
    """A result after the number of its rank, as with srun --label, is not read; the error says what to leave out."""
    srun = tmp_path / "srun"
    srun.write_text('#!/bin/sh\n"$@" | sed "s/^/0: /"\n')
    srun.chmod(0o755)
    with pytest.raises(ClueError, match="got lines with numbers of ranks before them: leave out srun's --label"):
        run_program([str(srun)], "measure_link", {}, 1.0)


def test_processes_that_do_not_see_each_other_are_told_apart_from_one_computer(tmp_path: Path) -> None:
    """Where srun speaks another protocol, each process is alone; the error says so, once, and names the options."""
    srun = tmp_path / "srun"
    srun.write_text('#!/bin/sh\n"$@"\n"$@"\n')
    srun.chmod(0o755)
    settings = {"sizes": [1], "time": 0.1, "apart": False, "confidence": 0.9}
    with pytest.raises(ClueError, match=r"on two computers at least, got one, alone: .* srun --mpi=pmi2 ") as failed:
        run_program([str(srun)], "measure_pairs", settings, 1.0)
    assert str(failed.value).count("ranks must be") == 1
