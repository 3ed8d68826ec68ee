"""Imported results of known benchmarks, given in the form in which each prints them."""

from __future__ import annotations

import pytest

from clue.calibration.importing import FORMS, read_benchmark
from clue.calibration.measurement import Measurement, merged
from clue.errors import UsageError

OSU_LATENCY = """\
# OSU MPI Latency Test v5.9
# Size          Latency (us)
0                       1.50
1                       1.55
1024                    2.50
"""
OSU_LATENCY_NEW = """\

# OSU MPI Latency Test v7.4
# Datatype: MPI_CHAR.
# Size       Avg Latency(us)        P50 Latency(us)
1                       1.55                   1.50
1024                    2.50                   2.40
"""
OSU_BW = """\
# OSU MPI Bandwidth Test v5.9
# Size      Bandwidth (MB/s)
1                       2.00
1000                 1000.00
"""
IMB = """\
#------------------------------------------------------------
#    Intel(R) MPI Benchmarks 2019 Update 6, MPI-1 part
#------------------------------------------------------------
# Date                  : Mon Jan  5 10:00:00 2026
# Machine               : x86_64
# MPI Version           : 3.1

#---------------------------------------------------
# Benchmarking PingPong
# #processes = 2
#---------------------------------------------------
       #bytes #repetitions      t[usec]   Mbytes/sec
            0         1000         1.50         0.00
            1         1000         1.60         0.62
      4194304           10       500.00      8388.61

#---------------------------------------------------
# Benchmarking PingPing
# #processes = 2
#---------------------------------------------------
       #bytes #repetitions      t[usec]   Mbytes/sec
            0         1000         9.50         0.00
"""
NETPIPE_PRINTED = """\
Send and receive buffers are 16384 and 87380 bytes
Now starting the main loop
  0:       1 bytes   1000 times -->      0.05 Mbps in     160.00 usec
  1:    1000 bytes   500 times -->       40.0 Mbps in     200.00 usec
"""
NETPIPE_5 = """\
  1:       1  B     24999 times -->  \x1b[1m400.000 Kbps\x1b[0m  in  160.000 usecs
  2:   1.000 KB     12500 times -->   40.000 Mbps  in  200.000 usecs
  3:   1.500 MB       500 times -->    8.000 Gbps  in    1.500 msecs
"""
#: Bytes, 2^20 bit/s, seconds: 1000 B in 200 us are 40e6 bit/s, or 38.147 · 2^20 bit/s.
NETPIPE_OUT = """\
       1     0.047684   0.00016000
    1000    38.146973   0.00020000
"""
#: Seconds, 2^20 bit/s, bits, bytes, variance.
NETPIPE_OLD = """\
0.000160 0.047684 8 1 0.000000
0.000200 38.146973 8000 1000 0.000000
"""
OSU_MBW_MR = """\
# OSU MPI Multiple Bandwidth / Message Rate Test v5.6.2
# [ pairs: 4 ] [ window size: 32 ]
# Size                  MB/s        Messages/s
1                       4.00        4000000.00
1000                 2000.00        2000000.00
"""
OSU_MULTI_LAT = """\
# OSU MPI Multi Latency Test v7.1
# Size          Latency (us)
# Datatype: MPI_CHAR.
1                       1.60
1024                    5.00
"""
OSU_BIBW = """\
# OSU MPI Bi-Directional Bandwidth Test v7.5
# Datatype: MPI_CHAR.
# Size      Bandwidth (MB/s)        Validation
1                       3.00              Pass
1000                 1600.00              Pass
"""
IMB_SHARED = """\
#---------------------------------------------------
# Benchmarking Uniband
# #processes = 2
# ( 2 additional processes waiting in MPI_Barrier )
#---------------------------------------------------
       #bytes #repetitions   Mbytes/sec      Msg/sec
            0         1000         0.00      1000000
         1000         1000      1000.00      1000000

#---------------------------------------------------
# Benchmarking Uniband
# #processes = 4
#---------------------------------------------------
       #bytes #repetitions   Mbytes/sec      Msg/sec
            0         1000         0.00      2000000
         1000         1000      1600.00      1600000

#---------------------------------------------------
# Benchmarking Biband
# #processes = 4
#---------------------------------------------------
       #bytes #repetitions   Mbytes/sec      Msg/sec
            0         1000         0.00      2500000
         1000         1000      2000.00      2000000

#-----------------------------------------------------------------------------
# Benchmarking Sendrecv
# #processes = 2
#-----------------------------------------------------------------------------
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]   Mbytes/sec
            0         1000         1.90         2.10         2.00         0.00

#-----------------------------------------------------------------------------
# Benchmarking Sendrecv
# #processes = 4
#-----------------------------------------------------------------------------
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]   Mbytes/sec
            0         1000         7.90         8.10         8.00         0.00

#-----------------------------------------------------------------------------
# Benchmarking Multi-PingPong
# ( 3 groups of 2 processes each running simultaneous )
# Group  0:     0    1
#
# Group  1:     2    3
#
# Group  2:     4    5
#-----------------------------------------------------------------------------
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]   Mbytes/sec
            0         1000         2.40         2.60         2.50         0.00
"""
CSV = """\
size, one_way (us), blocked (us), bandwidth (MB/s), note
0, 1.5, 0.5, , empty
1000, 2.5, 0.6, 1000, filled
"""
STUDY = """\
benchmark,nodes,experiment,size,median,n
osu_latency,32,aws/cpu/osu_latency,0,15.5,28
osu_latency,64,aws/cpu/osu_latency,0,15.7,28
osu_latency,32,gke/cpu/osu_latency,0,36.2,28
osu_bw,32,aws/cpu/osu_bw,1000,1000,28
osu_allreduce,32,aws/cpu/osu_allreduce,4,99,28
"""


def one_way(measurement: Measurement) -> dict[int, float]:
    """Return half round trips by size, us."""
    return {row.size: round(row.one_way.value * 1e6, 9) for row in measurement.rows if row.one_way}


def gaps(measurement: Measurement) -> dict[int, float]:
    """Return times per message of a stream by size, us."""
    return {row.size: round(row.gap.value * 1e6, 9) for row in measurement.rows if row.gap}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (OSU_LATENCY, {0: 1.5, 1: 1.55, 1024: 2.5}),
        (OSU_LATENCY_NEW, {1: 1.55, 1024: 2.5}),
        (IMB, {0: 1.5, 1: 1.6, 4194304: 500}),
        (NETPIPE_PRINTED, {1: 160, 1000: 200}),
        (NETPIPE_5, {1: 160, 1000: 200, 1_500_000: 1500}),
        (NETPIPE_OUT, {1: 160, 1000: 200}),
        (NETPIPE_OLD, {1: 160, 1000: 200}),
        (CSV, {0: 1.5, 1000: 2.5}),
    ],
    ids=["osu", "osu with percentiles", "imb", "netpipe printed", "netpipe 5", "np.out", "np.out of version 2", "csv"],
)
def test_half_round_trips_are_read_and_the_form_is_told_from_the_text(text: str, expected: dict[int, float]) -> None:
    """Half round trips are read in microseconds by size; the form is recognised from the text."""
    assert one_way(read_benchmark(text, "file")) == expected


def test_a_bandwidth_is_a_time_per_message_of_a_window() -> None:
    """1000 B at 1000 MB/s are one message per microsecond; osu_bw sends windows of 64 messages."""
    found = read_benchmark(OSU_BW, "folder/bw.txt")
    assert gaps(found) == {1: 0.5, 1000: 1.0}
    assert {row.window for row in found.rows} == {64}
    assert found.source == "OSU MPI Bandwidth Test v5.9 (bw.txt)"


def shared(measurement: Measurement) -> list[tuple[int, int, bool, int, float]]:
    """Return size, pairs, whether both directions are used, window, and time in us, by row."""
    found = []
    for row in measurement.shared:
        time = row.gap or row.one_way
        assert time is not None
        found.append((row.size, row.pairs, row.both_ways, row.window, round(time.value * 1e6, 9)))
    return found


def test_a_message_rate_of_several_pairs_is_a_time_per_message_of_all() -> None:
    """4 million messages per second of all pairs are one in 0.25 us.

    The head gives the numbers of pairs and the window; with one pair the result is a plain stream.
    """
    found = read_benchmark(OSU_MBW_MR, "mr.txt")
    assert (found.rows, shared(found)) == ((), [(1, 4, False, 32, 0.25), (1000, 4, False, 32, 0.5)])
    assert found.source == "OSU MPI Multiple Bandwidth / Message Rate Test v5.6.2 (mr.txt)"
    alone = read_benchmark(OSU_MBW_MR.replace("pairs: 4", "pairs: 1"), "mr.txt")
    assert (gaps(alone), alone.shared) == ({1: 0.25, 1000: 0.5}, ())
    without = OSU_MBW_MR.replace("Messages/s", "").replace("4000000.00", "").replace("2000000.00", "")
    assert shared(read_benchmark(without, "mr.txt")) == shared(found)


def test_pairs_and_directions_at_once_are_kept_apart_from_one_pair_alone() -> None:
    """Several pairs and both directions are kept apart from one pair alone.

    osu_multi_lat does not state its pairs; 1600 MB/s in both directions are a message of 1000 B in 0.625 us.
    """
    found = read_benchmark("\n".join((OSU_LATENCY, OSU_MULTI_LAT, OSU_BIBW, OSU_BW)), "job.out")
    assert one_way(found) == {0: 1.5, 1: 1.55, 1024: 2.5}
    assert gaps(found) == {1: 0.5, 1000: 1.0}
    assert shared(found) == [
        (1, 0, False, 0, 1.6),
        (1, 1, True, 64, 0.333333333),
        (1000, 1, True, 64, 0.625),
        (1024, 0, False, 0, 5.0),
    ]


def test_benchmarks_of_imb_with_several_pairs_or_both_directions() -> None:
    """IMB benchmarks are read by numbers of processes: two of Uniband are one pair; a ring of four is left out."""
    found = read_benchmark("\n".join((IMB, IMB_SHARED)), "imb.txt")
    assert one_way(found) == {0: 1.5, 1: 1.6, 4194304: 500}
    assert gaps(found) == {0: 1.0, 1000: 1.0}
    assert shared(found) == [
        (0, 1, True, 0, 2.0),
        (0, 2, False, 64, 0.5),
        (0, 2, True, 64, 0.4),
        (0, 3, False, 0, 2.5),
        (1000, 2, False, 64, 0.625),
        (1000, 2, True, 64, 0.5),
    ]
    assert found.source == "Intel MPI Benchmarks PingPong, Uniband, Biband, Sendrecv, Multi-PingPong (imb.txt)"


def test_ping_pongs_of_imb_p2p_are_those_of_all_pairs_at_once() -> None:
    """IMB-P2P divides all processes into pairs: its ping-pong of six processes is one of three pairs."""
    several = IMB.replace("# #processes = 2", "# #processes = 6", 1)
    found = read_benchmark(several, "p2p.txt")
    assert (one_way(found), shared(found)) == (
        {},
        [(0, 3, False, 0, 1.5), (1, 3, False, 0, 1.6), (4194304, 3, False, 0, 500)],
    )
    assert one_way(read_benchmark(IMB.replace("# #processes = 2", "#"), "cut.txt")) == {0: 1.5, 1: 1.6, 4194304: 500}


def test_sizes_that_imb_could_not_measure_are_left_out() -> None:
    """IMB has rows without figures for sizes that would take too long or too much memory."""
    late = '      8388608 time-out.; Time limit (secs_per_sample * msg_sizes_list_len) is over; use "-time X"\n'
    large = '     16777216 out-of-mem.; needed X=   1.001 GB; use flag "-mem X"\n'
    end = "      4194304           10       500.00      8388.61\n"
    assert one_way(read_benchmark(IMB.replace(end, end + late + large), "imb.txt")) == {0: 1.5, 1: 1.6, 4194304: 500}
    with pytest.raises(UsageError, match=r"imb.txt:16: column 3 must be a number not below 0, got late"):
        read_benchmark(IMB.replace(end, late + "      4194304           10         late\n"), "imb.txt")
    group = f"            0{late}            1            8         1000         2.00         0.00\n"
    head, table = IMB_SHARED.split("# Benchmarking Multi-PingPong")[1].split("       #bytes")
    assert table
    groups = f"        Group       #bytes #repetitions      t[usec]   Mbytes/sec\n{group}"
    found = read_benchmark(f"# Benchmarking Multi-PingPong{head}{groups}", "imb.txt")
    assert shared(found) == [(8, 3, False, 0, 2.0)]


def test_both_directions_of_osu_2_have_another_title() -> None:
    """OSU 2 writes "Bidirectional" and "Bi-Bandwidth": 1600 MB/s in both directions are 1000 B in 0.625 us."""
    older = OSU_BIBW.replace("Bi-Directional Bandwidth Test v7.5", "Bidirectional Bandwidth Test (Version 2.1)")
    older = older.replace("# Datatype: MPI_CHAR.\n", "").replace("Bandwidth (MB/s)", "Bi-Bandwidth (MB/s)")
    assert shared(read_benchmark(older, "bibw.txt")) == shared(read_benchmark(OSU_BIBW, "bibw.txt"))


def test_every_group_of_imb_counts() -> None:
    """With ``-multi 1`` each group has a row, and the median over the groups is used."""
    head, table = IMB_SHARED.split("# Benchmarking Multi-PingPong")[1].split("       #bytes")
    assert table
    groups = "        Group       #bytes #repetitions      t[usec]   Mbytes/sec\n\n" + "".join(
        f"            {group}            8         1000         {time}         0.00\n"
        for group, time in enumerate((2.0, 3.0, 7.0))
    )
    found = read_benchmark(f"# Benchmarking Multi-PingPong{head}{groups}", "imb.txt")
    assert shared(found) == [(8, 3, False, 0, 3.0)]


def test_what_no_benchmark_shows_is_said_once() -> None:
    """The note on what benchmarks cannot show appears once, however many files are merged."""
    found = merged([read_benchmark(text, "x") for text in (OSU_LATENCY, OSU_BW, OSU_BW, OSU_MBW_MR)])
    assert [note.split(":")[0] for note in found.notes] == ["send overhead, acknowledgements, progress", "streams"]


@pytest.mark.parametrize(
    ("text", "is_assumed"),
    [(OSU_BW, True), (STUDY.replace("osu_bw,32", "osu_bw,64"), True), (OSU_MBW_MR, False), (IMB_SHARED, False)],
    ids=["osu_bw", "a table of benchmarks", "osu_mbw_mr", "imb"],
)
def test_a_window_that_is_not_stated_is_told(text: str, is_assumed: bool) -> None:
    """osu_bw prints no window (option -W), and IMB has only one."""
    found = read_benchmark(text, "x", where={"nodes": "64"} if text.startswith("benchmark") else None)
    assert any("64 are assumed, its default" in note for note in found.notes) is is_assumed


def test_damaged_data_are_told() -> None:
    """With -c, OSU's last column says whether data arrived as they were sent; rows not used do not count."""
    damaged = OSU_BIBW.replace("1600.00              Pass", "1600.00              Fail")
    other = damaged.replace("Bi-Directional Bandwidth", "Allreduce Latency").replace("Bandwidth (MB/s)", "Latency (us)")
    for text, told in ((OSU_BIBW, []), (damaged, ["1 row"]), (damaged.replace("Pass", "Fail") + other, ["2 rows"])):
        notes = read_benchmark(text, "runs/bibw.txt").notes
        said = [f"validation: bibw.txt says that data arrived damaged in {rows}: measure again" for rows in told]
        assert [note for note in notes if note.startswith("validation")] == said


def test_defects_that_imb_counts_are_told() -> None:
    """IMB that was built with checks counts defects by size; those of benchmarks that are not used do not matter."""
    table = IMB.replace("Mbytes/sec", "Mbytes/sec      defects").replace("0.00\n", "0.00   0.00\n")
    checked = table.replace("0.62\n", "0.62   1.00\n").replace("8388.61\n", "8388.61   0.00\n")
    assert [note for note in read_benchmark(checked, "x").notes if note.startswith("validation")] == [
        "validation: x says that data arrived damaged in 1 row: measure again"
    ]
    assert not any(note.startswith("validation") for note in read_benchmark(IMB, "x").notes)


@pytest.mark.parametrize(("place", "is_told"), [("HOST (H)", False), ("DEVICE (D)", True), ("MANAGED (M)", True)])
def test_data_on_accelerators_are_told(place: str, is_told: bool) -> None:
    """With CUDA or ROCm, OSU says in which memory the data are: times of device memory are not those of hosts."""
    on = f"# Send Buffer on {place} and Receive Buffer on {place}\n# Datatype"
    found = read_benchmark(OSU_LATENCY_NEW.replace("OSU MPI", "OSU MPI-CUDA").replace("# Datatype", on), "x.txt")
    assert one_way(found) == {1: 1.55, 1024: 2.5}
    assert any(note.startswith("buffers: x.txt has times of data in") for note in found.notes) is is_told


def test_a_table_without_a_title_is_told() -> None:
    """Without its title, a table may be that of another benchmark."""
    found = read_benchmark(OSU_LATENCY.split("\n", 1)[1], "folder/x.txt")
    assert one_way(found) == {0: 1.5, 1: 1.55, 1024: 2.5}
    assert "benchmark: x.txt has a table without a title, which is taken for osu_latency's or osu_bw's" in found.notes


def test_benchmarks_of_one_job_are_told_apart() -> None:
    """A file with several benchmarks is read part by part, in any order; others are named in a note."""
    collective = OSU_LATENCY.replace("OSU MPI Latency", "OSU MPI Broadcast Latency").replace("2.5", "9.5")
    for parts in ((OSU_LATENCY, OSU_BW, collective), (collective, OSU_BW, OSU_LATENCY)):
        found = read_benchmark("\n".join(parts), "job.out")
        assert one_way(found) == {0: 1.5, 1: 1.55, 1024: 2.5}
        assert gaps(found) == {1: 0.5, 1000: 1.0}
        assert "benchmarks: job.out also has OSU MPI Broadcast Latency Test v5.9: not used" in found.notes


def test_benchmarks_that_are_not_used_are_told() -> None:
    """IMB's Sendrecv is used with two processes only, its PingPing never; a file of used ones alone has no note."""
    more = "Sendrecv of more than two processes"
    for text, others in ((IMB, "PingPing"), (IMB_SHARED, more), (f"{IMB}\n{IMB_SHARED}", f"PingPing, {more}")):
        notes = [note for note in read_benchmark(text, "runs/imb.txt").notes if note.startswith("benchmarks")]
        assert notes == [f"benchmarks: imb.txt also has {others}: not used"]
    used = IMB.split("#---------------------------------------------------\n# Benchmarking PingPing", maxsplit=1)[0]
    assert not any(note.startswith("benchmarks") for note in read_benchmark(used, "imb.txt").notes)


LABELS = ("0: ", "[1,0]<stdout>:", "[1,0]<stdout>: ", "[0] ")


@pytest.mark.parametrize("label", LABELS)
@pytest.mark.parametrize("form", [None, "osu", "imb"])
def test_lines_with_numbers_of_ranks_are_refused_with_the_reason(label: str, form: str | None) -> None:
    """``srun --label``, ``mpirun --tag-output`` and ``mpiexec -l`` write numbers of ranks before lines."""
    for text, line in ((OSU_LATENCY, 1), (IMB, 9)):
        labelled = "".join(f"{label}{each}\n" for each in text.splitlines())
        with pytest.raises(UsageError, match=rf"^x\.txt:{line}: lines must be .* remove the numbers of ranks before"):
            read_benchmark(labelled, "x.txt", form)


def test_a_table_without_rows_does_not_take_those_of_the_next() -> None:
    """A benchmark that failed after its head has no times; 1000 MB/s of the next one are no half round trip of 1 ms."""
    failed = OSU_LATENCY.rsplit("0  ", 1)[0]
    found = read_benchmark("\n".join((failed, OSU_BW)), "job.out")
    assert (one_way(found), gaps(found)) == ({}, {1: 0.5, 1000: 1.0})
    failed = IMB.split("            0         1000         1.50", maxsplit=1)[0]
    found = read_benchmark("\n".join((failed, IMB_SHARED)), "imb.txt")
    assert (one_way(found), gaps(found)) == ({}, {0: 1.0, 1000: 1.0})


def test_files_as_spreadsheets_write_them() -> None:
    """CSV files may have a byte order mark, and semicolons as separators."""
    assert one_way(read_benchmark("\ufeff" + CSV, "m.csv")) == one_way(read_benchmark(CSV, "m.csv"))
    assert one_way(read_benchmark(CSV.replace(",", ";"), "m.csv")) == one_way(read_benchmark(CSV, "m.csv"))


def test_csv_may_know_more_than_benchmarks_do() -> None:
    """CSV may also give blocked times and streams without answers; empty cells are unknown."""
    empty, filled = read_benchmark(CSV, "m.csv").rows
    assert empty.blocked is not None and empty.blocked.value == pytest.approx(0.5e-6)
    assert empty.gap is None and filled.gap is not None
    assert filled.gap.value == pytest.approx(1e-6)
    assert filled.window == 0


def test_rows_of_a_table_of_several_benchmarks_are_chosen() -> None:
    """Rows of a table are selected by patterns on columns; benchmarks other than of links are named in a note."""
    found = read_benchmark(STUDY, "study.csv", where={"nodes": "32", "experiment": "aws/*"})
    assert one_way(found) == {0: 15.5}
    assert gaps(found) == {1000: 1.0}
    assert found.source == "study.csv (nodes=32, experiment=aws/*)"


def test_imb_tells_its_date_and_mpi() -> None:
    """Date and version of MPI are read from the head of IMB's output."""
    found = read_benchmark(IMB, "imb.txt")
    assert (found.date, found.mpi) == ("Mon Jan  5 10:00:00 2026", "3.1")


WRONG = {
    "a cell without end": (
        "size,latency (us)\n" + "1" * 200_000,
        "csv",
        {},
        "lines must be comma-separated values, got: ",
    ),
    "nothing known": ("hello\n", None, {}, "form must be one of"),
    "an unknown form": (OSU_LATENCY, "xml", {}, "form must be one of"),
    "another OSU benchmark": (OSU_BW.replace("MPI Bandwidth", "MPI_Put Bandwidth"), None, {}, "osu_bibw, got OSU"),
    "pairs that are not told": (OSU_MBW_MR.replace("# [ pairs", "# [ couples"), None, {}, "pairs and window size must"),
    "no pairs": (OSU_MBW_MR.replace("pairs: 4", "pairs: 0"), None, {}, "pairs and window size must precede"),
    "pairs of another table": (OSU_MBW_MR + OSU_MBW_MR.replace("# [ pairs", "# [ "), None, {}, "pairs and window size"),
    "a rate without a title": (OSU_MBW_MR.split("\n", 2)[2], None, {}, "got none before Size"),
    "a rate that is cut off": (OSU_MBW_MR + "2000  1.0\n", None, {}, "column 3 must be a number not below 0, got noth"),
    "a rate of messages as a time": (OSU_MBW_MR + "2000  1 1e15\n", None, {}, "times of messages must be 0 or from"),
    "IMB without its processes": (IMB_SHARED.replace("#processes = 4", ""), None, {}, "Uniband must state the number"),
    "IMB with another column": (
        IMB_SHARED.replace("Msg/sec", "Msg"),
        None,
        {},
        "columns of Uniband must be #bytes and",
    ),
    "a table without a head": ("1 2.0\n", "osu", {}, "got no table"),
    "an OSU collective": (
        OSU_LATENCY.replace("OSU MPI Latency", "OSU MPI Broadcast Latency"),
        None,
        {},
        "osu_bibw, got OSU",
    ),
    "an unknown unit of OSU": (OSU_LATENCY.replace("(us)", "(ms)"), None, {}, "header of the table"),
    "a row that is cut off": (OSU_LATENCY + "2048\n", None, {}, "column 2 must be a number not below 0, got nothing"),
    "a negative time": (OSU_LATENCY + "2048   -1.5\n", None, {}, "got -1.5 in '2048   -1.5'"),
    "a collective without its title": (
        OSU_LATENCY.split("\n", 1)[1].replace("Latency (us)", "Avg Latency(us)   Min Latency(us)"),
        None,
        {},
        "header of the table must be",
    ),
    "a decimal comma between commas": (
        "size,one_way (us)\n1024,2.5\n0,1,5\n",
        "csv",
        {},
        "rows must have at most 2 cells, as many as the header, got 3 in that of size 0",
    ),
    "half a byte": ("size,one_way (us)\n1.5,2\n", "csv", {}, "whole number of bytes, got '1.5'"),
    "a column twice": ("size,one_way (us),one_way (us)\n1,2,3\n", "csv", {}, "got one_way (us) twice"),
    "a head without rows": ("size,one_way (us)\n", "csv", {}, "rows must follow the head"),
    "an empty file": ("\n", None, {}, "got an empty file"),
    "no PingPong": (IMB.replace("PingPong", "Bcast"), None, {}, "must be among the benchmarks, got Bcast, PingPing"),
    "a line of NetPIPE in another form": (
        f"{NETPIPE_PRINTED}  2:    2000 words   500 times -->       80.0 Mbps in     200.00 usec\n",
        "netpipe",
        {},
        "got 2 of 3 lines that do",
    ),
    "columns that contradict each other": ("1 2 3\n4 5 6\n", "netpipe", {}, "that agree"),
    "no rows": (OSU_LATENCY.rsplit("0  ", 1)[0], None, {}, "file must have times"),
    "no column of sizes": ("length,one_way (us)\n1,2\n", "csv", {}, "columns must include size"),
    "no column of times": ("size,one_way\n1,2\n", "csv", {}, "with a unit"),
    "an unknown unit": ("size,one_way (parsec)\n1,2\n", "csv", {}, "with a unit"),
    "an unknown unit beside a known one": (
        "size,one_way (us),bandwidth (MB/sec)\n1,2,3\n",
        "csv",
        {},
        "with a unit, such as one_way (us) or bandwidth (MB/s), got bandwidth (MB/sec)",
    ),
    "a bandwidth without its unit": ("size,one_way (us),bandwidth\n1,2,3\n", "csv", {}, "got bandwidth"),
    "a minimum, no minutes": ("size,latency (us),latency (min)\n1,2,1.5\n", "csv", {}, "got latency (min)"),
    "a word for a number": ("size,one_way (us)\n1,two\n", "csv", {}, "one_way (us) of size 1 must be a number"),
    "a size twice": (STUDY, None, {"nodes": "32"}, "must appear once, got it twice: choose by experiment"),
    "a condition that nothing meets": (STUDY, None, {"nodes": "7"}, "rows must match nodes=7"),
    "a condition on a column that is not there": (STUDY, None, {"node": "7"}, "columns must include node"),
    "a condition on something else than CSV": (OSU_BW, None, {"nodes": "7"}, "in CSV only"),
}


@pytest.mark.parametrize("case", WRONG, ids=str)
def test_what_is_wrong_is_said_with_the_name_of_the_file(case: str) -> None:
    """A wrong file is refused with its name, the rule and the value."""
    text, form, where, told = WRONG[case]
    with pytest.raises(UsageError, match=r"^folder/x\.txt(:\d+)?: ") as caught:
        read_benchmark(text, "folder/x.txt", form, where)
    assert told in str(caught.value)


@pytest.mark.parametrize("form", FORMS)
def test_junk_is_refused_in_every_form(form: str) -> None:
    """Binary, empty and endless input is refused in every form."""
    for text in ("", "\0\1\2", "size,\n", "# Size  Latency (us)\n1e999 nan\n", "1 " * 1000):
        with pytest.raises(UsageError):
            read_benchmark(text, "x", form)
