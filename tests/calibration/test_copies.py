"""The copy bandwidth of a node's memory, from simultaneous pairs of its ranks, computed by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from clue.calibration import network
from clue.calibration.contention import PairMeasurement, PairRow
from clue.calibration.measurement import EagerLimit, Estimate, Measurement, SizeRow
from clue.calibration.network import calibrate_link, calibrate_within, machine_file, with_copies
from clue.cli import main
from clue.config import load_machine
from clue.machine import Curve

MIB = 1 << 20
#: One pair alone: 1 us and 0.1 ns/B, which is 10 GB/s.
LATENCY, PER_BYTE = 1e-6, 1e-10
#: Copy bandwidth of the memory in these tests, bytes per second.
MEMORY = 16e9


def one_way(size: int, pairs: int = 1) -> Estimate:
    """Return half a round trip of simultaneous pairs: the time of the link or, if longer, pairs · m / C."""
    return Estimate.alone(LATENCY + max(size * PER_BYTE, pairs * size / MEMORY))


def gap(size: int, pairs: int = 1) -> Estimate:
    """Return the time per message of simultaneous streams, counted over all pairs."""
    return Estimate.alone(max(size * PER_BYTE / pairs, size / MEMORY))


def measured(*shared: SizeRow) -> Measurement:
    """Return a measurement of one pair within a node, and of several pairs as given."""
    rows = tuple(SizeRow(1 << k, one_way(1 << k), gap=gap(1 << k)) for k in range(21))
    return Measurement(rows, hosts=("a", "a"), source="by hand", shared=shared)


@pytest.mark.parametrize(
    ("shared", "said"),
    [
        ([SizeRow(MIB, gap=gap(MIB, 4), pairs=4)], "4 simultaneous messages of 1.049 MB reach 16 GB/s, 0.40 times"),
        ([SizeRow(MIB, one_way(MIB, 4), pairs=4)], "4 simultaneous messages of 1.049 MB reach 16 GB/s, 0.40 times"),
        # Two pairs in both directions have four messages in transit, too.
        ([SizeRow(MIB, one_way(MIB, 4), pairs=2, both_ways=True)], "4 simultaneous messages of 1.049 MB reach"),
        # Small messages stay in caches, so the largest size counts.
        (
            [SizeRow(1 << 16, gap=Estimate.alone(1e-5), pairs=4), SizeRow(MIB, gap=gap(MIB, 8), pairs=8)],
            "8 simultaneous messages",
        ),
    ],
    ids=["streams", "round trips", "both ways", "the largest"],
)
def test_several_pairs_tell_what_memory_copies(shared: list[SizeRow], said: str) -> None:
    """Streams and round trips of several pairs give a copy bandwidth of 16 GB/s."""
    fitted = calibrate_within(measured(*shared)).fitted
    assert fitted.copy_bandwidth == pytest.approx(MEMORY, rel=0.02)
    assert said in fitted.assumptions[-1]


def test_copies_that_do_not_slow_each_other_state_nothing() -> None:
    """If two streams together reach 20 GB/s, twice one stream's 10 GB/s, no copy bandwidth is stated."""
    fitted = calibrate_within(measured(SizeRow(MIB, gap=Estimate.alone(MIB * PER_BYTE / 2), pairs=2))).fitted
    assert fitted.copy_bandwidth is None
    assert "no slowdown was seen" in fitted.assumptions[-1]
    small = calibrate_within(measured(SizeRow(1024, gap=gap(1024, 4), pairs=4))).fitted
    assert small.copy_bandwidth is None
    assert "unknown without several simultaneous pairs" in small.assumptions[-1]
    alone = calibrate_within(measured()).fitted
    assert alone.copy_bandwidth is None
    assert alone.assumptions[-1].startswith("copies: only one pair was measured, so messages to different ranks")


def test_copies_are_by_the_time_that_the_simulator_takes_for_one() -> None:
    """Half of a message's growth is its sender's, half its way: one copy occupies the memory for 0.05 ns/B, or 52.4 us.

    Four pairs whose round trips take 4 m / C - 52.4 us longer than those of one show C, whatever a stream takes: the
    simulator lets messages within a node share no ports. C is below the 20 GB/s of one copy. So on the machine with C
    one message of 1 MiB takes m / C - 52.4 us = 13.1 us longer than measured, and those of a stream follow each other
    after m / C = 65.5 us.
    """
    sizes = [1 << k for k in range(21)]
    rows = tuple(
        SizeRow(
            size,
            one_way(size),
            blocked=Estimate.alone(0.4e-6 + size * PER_BYTE / 2),
            gap=Estimate.alone(0.5e-6 + size * PER_BYTE),
        )
        for size in sizes
    )
    four = SizeRow(MIB, Estimate.alone(one_way(MIB).value - MIB * PER_BYTE / 2 + 4 * MIB / MEMORY), pairs=4)
    within = calibrate_within(Measurement(rows, hosts=("a", "a"), source="by hand", shared=(four,)))
    assert within.fitted.link.busy is None
    assert within.fitted.copy_bandwidth == pytest.approx(MEMORY, rel=0.02)
    assert within.residuals.gap[-1].fitted == pytest.approx(MIB / MEMORY, rel=0.02)
    longer = MIB / MEMORY - MIB * PER_BYTE / 2
    assert within.residuals.one_way[-1].error == pytest.approx(longer / one_way(MIB).value, rel=0.1)


def test_a_machine_has_it_where_its_link_within_a_node_was_measured() -> None:
    """The machine file states the copy bandwidth if it was measured within the node, and omits it otherwise."""
    within = calibrate_within(measured(SizeRow(MIB, gap=gap(MIB, 4), pairs=4)))
    assert "copy_bandwidth: 1.6e+10 B/s" in machine_file(None, within, processors=8).text()
    assert "copy_bandwidth" not in machine_file(None, calibrate_within(measured()), processors=8).text()


def test_pairs_are_measured_where_each_rank_has_a_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    """On nine processors eight ranks measure four pairs; three processors are too few, which a note states."""
    asked: list[tuple[int, list[int]]] = []

    def measure(_: object, ranks: int, __: object, *, sizes: list[int], **___: object) -> PairMeasurement:
        asked.append((ranks, sizes))
        rows = [PairRow(pairs, MIB, one_way(MIB, pairs)) for pairs in (1, 2, 4)]
        return PairMeasurement(tuple(rows), ((0, 1),) * 4)

    monkeypatch.setattr(network, "measure_pairs", measure)
    found = with_copies(measured(), ["mpiexec"], 9)
    assert asked == [(8, [MIB])]
    assert calibrate_within(found).fitted.copy_bandwidth == pytest.approx(MEMORY, rel=0.02)
    few = with_copies(measured(), ["mpiexec"], 3)
    assert few.notes == ("copies: the bandwidth of simultaneous copies within a node was not measured "
                         "(3 processors)",)  # fmt: skip


def test_streams_of_several_pairs_within_a_node_are_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Results of osu_latency, osu_bw and osu_mbw_mr within a node give 16 GB/s for four pairs together."""
    monkeypatch.chdir(tmp_path)
    sizes = [1 << k for k in range(21)]
    latency = "\n".join(f"{size} {one_way(size).value * 1e6:.4f}" for size in sizes)
    bandwidth = "\n".join(f"{size} {size / gap(size).value / 1e6:.2f}" for size in sizes)
    rates = [(size, size / gap(size, 4).value) for size in sizes]
    pairs = "\n".join(f"{size} {rate / 1e6:.2f} {rate / size:.2f}" for size, rate in rates)
    Path("latency.txt").write_text(f"# OSU MPI Latency Test v7.2\n# Size          Latency (us)\n{latency}\n")
    Path("bw.txt").write_text(f"# OSU MPI Bandwidth Test v7.2\n# Size      Bandwidth (MB/s)\n{bandwidth}\n")
    Path("mr.txt").write_text(
        "# OSU MPI Multiple Bandwidth / Message Rate Test v7.2\n# [ pairs: 4 ] [ window size: 64 ]\n"
        f"# Size                  MB/s        Messages/s\n{pairs}\n"
    )
    files = ("latency.txt", "bw.txt", "mr.txt")
    assert main(("calibrate", "network", *files, "--within-node", "--processors", "8", "-o", "node.yaml", "-q")) == 0
    (node,) = load_machine("node.yaml").nodes
    assert node.copy_bandwidth == pytest.approx(MEMORY, rel=0.01)


#: What a receiver copies takes 0.5 us and 0.125 ns/B, which is 8 GB/s: longer than a message alone.
COPYING = Curve.line(5e-7, 1.25e-10)


def one_pair(*streams: int) -> Measurement:
    """Return a measurement within a node: above 1 KiB, messages wait for their receive; streams of 2^k bytes."""
    rows = tuple(
        # Above the limit, an answer takes as long as an empty message.
        SizeRow(
            1 << k,
            Estimate.alone((2 if k > 10 else 1) * LATENCY + (1 << k) * PER_BYTE),
            gap=Estimate.alone(COPYING(1 << k)) if k in streams else None,
        )
        for k in range(21)
    )
    return Measurement(rows, hosts=("a", "a"), source="by hand", eager=EagerLimit(1024, 1025, "by hand"))


def test_receivers_copy_for_as_long_as_single_messages_or_streams_take() -> None:
    """A copy takes what a message takes beyond an empty one, the handshake apart, or longer in a stream."""
    alone = calibrate_within(one_pair()).fitted.link.copy_time
    streamed = calibrate_within(one_pair(*range(21)))
    copying = streamed.fitted.link.copy_time
    assert alone is not None
    assert copying is not None
    for size in (4096, 1 << 16, MIB):
        # Without streams, it is assumed what the receive of an empty message takes of its 1 us.
        assert alone(size) == pytest.approx(size * PER_BYTE, rel=0.01, abs=LATENCY / 4)
        assert copying(size) == pytest.approx(COPYING(size), rel=0.01)
    large = [each for each in streamed.residuals.gap if each.size >= 4096]
    assert [each.fitted for each in large] == pytest.approx([each.measured for each in large], rel=0.02)
    assert all(each.fitted == pytest.approx(each.measured, rel=0.02) for each in streamed.residuals.one_way)


def test_streams_that_are_faster_than_single_messages_are_told() -> None:
    """A stream of 0.05 ns/B, against 0.1 ns/B of single messages, does not count: it does not write its data again."""
    fast = one_pair(*range(21))
    rows = [replace(row, gap=Estimate.alone(row.size * PER_BYTE / 2 + 1e-12)) for row in fast.rows]
    fitted = calibrate_within(replace(fast, rows=tuple(rows))).fitted
    assert fitted.link.copy_time is not None
    assert fitted.link.copy_time(MIB) == pytest.approx(MIB * PER_BYTE, rel=0.01)
    (said,) = (each for each in fitted.assumptions if each.startswith("copy time"))
    # At 2 KiB, the 1 us that an answer takes at least counts, too.
    assert "times as long as those of a stream" in said


def test_eager_messages_are_not_copied_in_turn() -> None:
    """If all messages are eager, or all but those of one size, no link states how long receivers copy."""
    for limit in (float("inf"), MIB / 2):
        assert calibrate_within(one_pair(*range(21)), limit).fitted.link.copy_time is None


def test_only_links_within_a_node_have_it() -> None:
    """Between nodes the same streams give how long ports are busy."""
    link = calibrate_link(one_pair(*range(21))).fitted.link
    assert link.copy_time is None
    assert link.busy is not None
