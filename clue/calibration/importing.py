"""Import of existing measurements: text of known benchmarks in, a :class:`Measurement` out.

============ =========================================================================================================
osu          OSU micro-benchmarks: osu_latency (half round trips), osu_bw (time per message of a stream), osu_mbw_mr
             (the same for several pairs together), osu_multi_lat (half round trips of several pairs at once), osu_bibw
             (time per message of streams in both directions); a note names other benchmarks in the same file
imb          Intel MPI Benchmarks: PingPong and Multi-PingPong (half round trips of one or several pairs), Uniband and
             Biband (time per message of streams between some pairs, in one or both directions), Sendrecv of two
             processes (a message in both directions); a note names other benchmarks in the same file
netpipe      NetPIPE: its output, or its np.out (half round trips)
csv          a column ``size`` in bytes, and times with their unit in the header, or rows of several OSU benchmarks
============ =========================================================================================================

Streams of several pairs distinguish the port of a node from the processor of a rank: a message occupies the port for
1 / message rate, whereas a single pair may be limited by its sender.

This module handles text only and opens no files.
"""

from __future__ import annotations

import csv
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import partial

from clue.calibration.measurement import Estimate, Measurement, SizeRow, rows_by_size
from clue.errors import UsageError
from clue.trace.meaning import LARGEST
from clue.units import Quantity, count_of, parse_quantity

#: Makes a row from a size in bytes and the number in the file.
_Figure = Callable[[int, float], SizeRow]

_MEGA = 1e6
#: Plausible range of a message time, seconds: a value outside has a wrong unit or is not a time.
_SHORTEST, _LONGEST = 1e-12, 1e6
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
#: A line of a benchmark's head after the number of its rank: ``0: # OSU …``, ``[1,0]<stdout>: # OSU …``, ``[0] # …``.
_LABELLED = re.compile(
    r"^[ \t]*(?:\d+:|\[\d+(?:,\d+)?\](?:<stdout>)?:?)[ \t]*# ?(?:OSU|Size|Benchmarking)\b", re.MULTILINE
)
#: Number of messages that osu_bw and Uniband send by default before they wait for an answer.
_WINDOW = 64
#: Assumptions about properties that no imported benchmark measures.
_UNSEEN = (
    "send overhead, acknowledgements, progress: imported benchmarks do not show them; it is assumed that "
    "nonblocking sends take as long as blocking ones, that no eager send waits for an acknowledgement, and that "
    "the library progresses messages outside of calls"
)
#: Assumption about streams of one pair: unlike osu_mbw_mr, osu_bw does not print the number of messages of a window.
_UNSTATED = (
    f"streams: osu_bw does not say how many messages it sends before each answer: {_WINDOW} are assumed, its default"
)


def _latency(unit: float) -> _Figure:
    return lambda size, number: SizeRow(size, one_way=Estimate.alone(number * unit))


def _blocked(unit: float) -> _Figure:
    return lambda size, number: SizeRow(size, blocked=Estimate.alone(number * unit))


def _gap(unit: float) -> _Figure:
    return lambda size, number: SizeRow(size, gap=Estimate.alone(number * unit))


def _bandwidth(unit: float, window: int = 0) -> _Figure:
    """Convert a bandwidth to the time per message, size over bandwidth; ignore empty messages."""
    return lambda size, number: (
        SizeRow(size, gap=Estimate.alone(size / (number * unit)), window=window) if size and number else SizeRow(size)
    )


def _file(name: str) -> str:
    return name.rsplit("/", 1)[-1]


def _damaged(name: str, rows: int) -> list[str]:
    """Report rows whose data were not what had been sent."""
    if not rows:
        return []
    return [f"validation: {_file(name)} says that data arrived damaged in {count_of(rows, 'row')}: measure again"]


def _unused(name: str, benchmarks: Iterable[str]) -> list[str]:
    """Name the benchmarks of a file that say nothing of a link."""
    others = ", ".join(dict.fromkeys(benchmarks))
    return [f"benchmarks: {_file(name)} also has {others}: not used"] if others else []


def _rate(window: int) -> _Figure:
    """Convert a message rate to the time per message, its reciprocal."""
    return lambda size, number: (
        SizeRow(size, gap=Estimate.alone(1 / number), window=window) if number else SizeRow(size)
    )


def _shared(rows: Iterable[SizeRow], pairs: int, both_ways: bool) -> Iterator[SizeRow]:
    return (replace(row, pairs=pairs, both_ways=both_ways) for row in rows)


def _measurement(
    rows: Iterable[SizeRow], source: str, mpi: str = "", date: str = "", notes: Iterable[str] = ()
) -> Measurement:
    known = rows_by_size(rows)
    return Measurement(
        tuple(row for row in known if row.alone),
        mpi=mpi,
        date=date,
        source=source,
        notes=(_UNSEEN, *notes),
        shared=tuple(row for row in known if not row.alone),
    )


def read_benchmark(
    text: str, name: str, form: str | None = None, where: Mapping[str, str] | None = None
) -> Measurement:
    """Read a benchmark's output.

    Args:
        text: The whole output.
        name: Its name in messages, usually that of the file.
        form: One of :data:`FORMS`; default: detected from the text.
        where: For CSV: the rows to use, as patterns (``*`` and ``?``) by column.

    Raises:
        UsageError: If it does not have that form, or contains no times.
    """
    text = text.removeprefix("\ufeff")
    if labelled := _LABELLED.search(text):
        line = 1 + text.count("\n", 0, labelled.start())
        raise UsageError(
            f"{name}:{line}: lines must be as the benchmark printed them, got {labelled[0]!r}: remove the numbers of "
            "ranks before them, which srun --label and mpirun --tag-output write"
        )
    form = form or _form_of(text, name)
    if form not in FORMS:
        raise UsageError(f"{name}: form must be one of {', '.join(FORMS)}, got {form!r}")
    if where and form != "csv":
        raise UsageError(f"{name}: rows must be selected in CSV only, got a file of form {form}")
    measurement = FORMS[form](text, name, where or {})
    measurement = replace(measurement, source=measurement.source.replace(name, _file(name)))
    rows = (*measurement.rows, *measurement.shared)
    if not any(row.one_way or row.blocked or row.gap for row in rows):
        raise UsageError(f"{name}: file must have times by message size, got none in the form {form}")
    for row in rows:
        _check(row, name)
    return measurement


def _check(row: SizeRow, name: str) -> None:
    """Check that a row has plausible figures."""
    if row.size > LARGEST:
        raise UsageError(f"{name}: sizes must be at most {LARGEST} B, got {row.size}")
    for each in (row.one_way, row.blocked, row.gap):
        if each is not None and each.value and not _SHORTEST <= each.value <= _LONGEST:
            rule = f"times of messages must be 0 or from {_SHORTEST:g} to {_LONGEST:g} s"
            raise UsageError(f"{name}: {rule}, got {each.value:g} for {row.size} B")


def _form_of(text: str, name: str) -> str:
    if not text.strip():
        raise UsageError(f"{name}: file must have times by message size, got an empty file")
    for form, pattern in _SIGNS.items():
        if re.search(pattern, text, re.MULTILINE):
            return form
    raise UsageError(f"{name}: form must be one of {', '.join(FORMS)}, got none that is known: state it")


def _number(word: str) -> float:
    """Return a finite number of at least 0, else NaN."""
    try:
        number = float(word)
    except ValueError:
        return float("nan")
    return number if 0 <= number < float("inf") else float("nan")


def _table(
    text: str, name: str, columns: tuple[int, int], figure: _Figure, begin: int = 0, *, end: int | None = None
) -> Iterator[SizeRow]:
    """Yield a row for each line that begins with a number, from the columns of the size and of the figure.

    Args:
        text: The whole file.
        name: Name of the file.
        columns: Columns of the size and of the figure.
        figure: Converts the figure.
        begin: Start of the table.
        end: Start of the next head; the table also ends at a line that begins with ``#`` after rows.

    Raises:
        UsageError: If a row lacks such a number.
    """
    line_number, some = text.count("\n", 0, begin), False
    for line in text[begin:end].splitlines():
        line_number += 1
        words = line.split()
        if some and words and words[0].startswith("#"):
            return
        if not words or not _NUMBER.fullmatch(words[0]):
            continue
        numbers = []
        for column in columns:
            word = words[column] if column < len(words) else "nothing"
            numbers.append(_number(word))
            if math.isnan(numbers[-1]):
                raise UsageError(
                    f"{name}:{line_number}: column {column + 1} must be a number not below 0, got {word} "
                    f"in {line.strip()!r}"
                )
        some = True
        yield figure(int(numbers[0]), numbers[1])


# --- OSU ---

_OSU_HEAD = re.compile(r"^#[ \t]*(OSU .*|Size[ \t]+\S.*)$", re.MULTILINE)
_OSU_TITLE = re.compile(
    r"OSU MPI[^_\s]*\s+(?:Persistent\s+)?"
    r"(Latency|Bandwidth|Multi Latency|Multiple Bandwidth / Message Rate|Bi-?Directional Bandwidth)\s+Test\b",
    re.IGNORECASE,
)
_OSU_PAIRS = re.compile(
    r"^#\s*\[\s*pairs:\s*([1-9]\d{0,8})\s*\]\s*\[\s*window size:\s*([1-9]\d{0,8})\s*\]", re.MULTILINE
)
#: A row whose data were not what had been sent, as the last column says with the option ``-c``.
_OSU_FAILED = re.compile(r"^[ \t]*\d.*[ \t]Fail[ \t\r]*$", re.MULTILINE)
_OSU_NAMES = "osu_latency, osu_bw, osu_mbw_mr, osu_multi_lat, osu_bibw"
#: Pattern of a header line, the column that is used, and its conversion, given the window.
_OSU_FIGURES: Sequence[tuple[re.Pattern[str], int, Callable[[int], _Figure]]] = (
    (re.compile(r"^(avg\s+)?latency\s*\(us\)", re.IGNORECASE), 1, lambda _: _latency(1e-6)),
    (re.compile(r"^mb/s\s+messages/s", re.IGNORECASE), 2, _rate),
    (re.compile(r"^(bi-)?bandwidth\s*\(mb/s\)|^mb/s", re.IGNORECASE), 1, partial(_bandwidth, _MEGA)),
)
#: The lines below a title that name the memory of the data: host, device or managed by both.
_OSU_ACCELERATOR = re.compile(r"^#.*\bBuffer on (DEVICE|MANAGED)\b", re.MULTILINE | re.IGNORECASE)
#: Columns of collectives, whose tables are known by their titles otherwise.
_OSU_OF_MANY = re.compile(r"\b(min|max)\b", re.IGNORECASE)


def _read_osu(text: str, name: str, _: Mapping[str, str]) -> Measurement:
    """Read tables of point-to-point benchmarks; use the average of latencies, not their percentiles."""
    title, begin, titles, others = "", 0, list[str](), list[str]()
    rows: list[SizeRow] = []
    notes: dict[str, None] = {}
    failed = 0
    heads = list(_OSU_HEAD.finditer(text))
    ends = [*(head.start() for head in heads), len(text)][1:]
    for head, end in zip(heads, ends, strict=True):
        words = head[1].strip()
        if words.startswith("OSU"):
            title, begin = words, head.end()
        elif title and not _OSU_TITLE.match(title):
            others.append(title)
        else:
            titles.append(title)
            found = list(_osu_table(text, name, title, begin, head, end=end))
            rows += found
            notes |= dict.fromkeys(_about_osu(title, text[begin : head.start()], found, name))
            failed += len(_OSU_FAILED.findall(text, head.end(), end))
    if not titles:
        got = ", ".join(others) or "no table"
        raise UsageError(f"{name}: benchmark must be one of {_OSU_NAMES}, got {got}")
    named = ", ".join(dict.fromkeys(filter(None, titles)))
    return _measurement(
        rows, f"{named} ({name})" if named else name, notes=(*notes, *_unused(name, others), *_damaged(name, failed))
    )


def _about_osu(title: str, above: str, rows: Sequence[SizeRow], name: str) -> Iterator[str]:
    """Report what is assumed of a table that does not say it, and that its data were on accelerators."""
    if not title:
        yield f"benchmark: {_file(name)} has a table without a title, which is taken for osu_latency's or osu_bw's"
    if "multiple" not in title.lower() and any(row.window and row.alone for row in rows):
        yield _UNSTATED
    if _OSU_ACCELERATOR.search(above):
        yield (
            f"buffers: {_file(name)} has times of data in the memory of accelerators; messages of programs are taken "
            "to be as fast, wherever their data are"
        )


def _osu_table(text: str, name: str, title: str, begin: int, head: re.Match[str], *, end: int) -> Iterator[SizeRow]:
    """Return the rows of a table whose title ends at ``begin``, up to the next head at ``end``."""
    words = head[1].strip()
    columns = words.split(maxsplit=1)[1]
    found = next(((column, figure) for sign, column, figure in _OSU_FIGURES if sign.match(columns)), None)
    if found is None or (not title and _OSU_OF_MANY.search(columns)):
        known = '"# Size  Latency (us)", "Bandwidth (MB/s)" or "MB/s  Messages/s"'
        raise UsageError(f"{name}: header of the table must be {known}, got {words}")
    column, figure = found
    known_title = _OSU_TITLE.match(title)
    test = known_title[1].lower() if known_title else ""
    crowd = _OSU_PAIRS.search(text, begin, head.start())
    if crowd is None and (column == 2 or test.startswith("multiple")):
        form = '"# [ pairs: 2 ] [ window size: 64 ]"'
        raise UsageError(f"{name}: pairs and window size must precede the table ({form}), got none before {words}")
    unstated = 0 if test == "multi latency" else 1
    pairs, window = (int(crowd[1]), int(crowd[2])) if crowd else (unstated, _WINDOW)
    rows = _table(text, name, (0, column), figure(window), head.end(), end=end)
    return _shared(rows, pairs, test.startswith("bi"))


# --- Intel MPI Benchmarks ---


_IMB_HEAD = re.compile(r"^#[ \t]*Benchmarking[ \t]+(\S+)", re.MULTILINE)
#: A row of a size that was not measured: the words after the group and the size say why.
_IMB_FAILED = re.compile(r"^[ \t]*\d+(?:[ \t]+\d+)?[ \t]+(?:out-of-mem|int-overflow|time-out)\b.*", re.MULTILINE)
_IMB_COLUMNS = re.compile(r"^[ \t]*(?:Group[ \t]+)?#bytes[ \t].*$", re.MULTILINE)
_IMB_TIMES = ("t_avg[usec]", "t[usec]")
_IMB_PROCESSES = r"#processes = (\d{1,9})"
#: By benchmark: alternative columns, the conversion of their figure, the pattern of the number of processes or groups,
#: how many of these make a pair, and whether messages go both ways.
_IMB_BENCHMARKS: Mapping[str, tuple[Sequence[str], _Figure, str, int, bool]] = {
    "PingPong": (_IMB_TIMES, _latency(1e-6), _IMB_PROCESSES, 2, False),
    "Multi-PingPong": (_IMB_TIMES, _latency(1e-6), r"\(\s*(\d{1,9}) groups of 2 processes", 1, False),
    "Sendrecv": (_IMB_TIMES, _latency(1e-6), _IMB_PROCESSES, 2, True),
    "Uniband": (("Msg/sec",), _rate(_WINDOW), _IMB_PROCESSES, 2, False),
    "Biband": (("Msg/sec",), _rate(_WINDOW), _IMB_PROCESSES, 2, True),
}


def _read_imb(text: str, name: str, _: Mapping[str, str]) -> Measurement:
    text = _IMB_FAILED.sub("", text)
    heads = list(_IMB_HEAD.finditer(text))
    ends = [*(head.start() for head in heads), len(text)][1:]
    rows: list[SizeRow] = []
    others: list[str] = []
    failed = 0
    for head, end in zip(heads, ends, strict=True):
        table = _imb_table(text, name, head, end)
        rows += table or ()
        if table is None:
            others.append(f"{head[1]} of more than two processes" if head[1] in _IMB_BENCHMARKS else head[1])
        failed += _imb_damaged(text, head, end)
    if not rows:
        got = ", ".join(dict.fromkeys(head[1] for head in heads)) or "none"
        raise UsageError(f"{name}: times of {', '.join(_IMB_BENCHMARKS)} must be among the benchmarks, got {got}")
    named = ", ".join(dict.fromkeys(head[1] for head in heads if head[1] in _IMB_BENCHMARKS))
    source = f"Intel MPI Benchmarks {named} ({name})"
    notes = (*_unused(name, others), *_damaged(name, failed))
    return _measurement(rows, source, _field(text, "MPI Version"), _field(text, "Date"), notes)


def _imb_table(text: str, name: str, head: re.Match[str], end: int) -> list[SizeRow] | None:
    """Return the rows of a benchmark; ``None`` if it is not used here, as Sendrecv among more than two processes."""
    benchmark = head[1]
    if benchmark not in _IMB_BENCHMARKS:
        return None
    names, figure, sign, ranks, both_ways = _IMB_BENCHMARKS[benchmark]
    columns = _IMB_COLUMNS.search(text, head.end(), end)
    words = columns[0].split() if columns else []
    column = next((words.index(each) for each in names if each in words), None)
    if columns is None or column is None:
        got = " ".join(words) or "none"
        raise UsageError(f"{name}: columns of {benchmark} must be #bytes and {' or '.join(names)}, got {got}")
    stated = re.compile(sign).search(text, head.end(), columns.start())
    count = int(stated[1]) if stated else ranks if benchmark == "PingPong" else 0
    if count < ranks:
        raise UsageError(f"{name}: header of {benchmark} must state the number of processes, got none that does")
    if benchmark == "Sendrecv" and count != ranks:
        return None
    rows = _table(text, name, (words.index("#bytes"), column), figure, columns.end(), end=end)
    return list(_shared(rows, count // ranks, both_ways))


def _imb_damaged(text: str, head: re.Match[str], end: int) -> int:
    """Return the number of rows of a used benchmark with defects, which IMB counts if it was built with checks."""
    columns = _IMB_COLUMNS.search(text, head.end(), end)
    words = columns[0].split() if columns and head[1] in _IMB_BENCHMARKS else []
    if columns is None or "defects" not in words:
        return 0
    lines = [line.split() for line in text[columns.end() : end].splitlines()]
    return sum(_number(line[-1]) > 0 for line in lines if len(line) == len(words) and _NUMBER.fullmatch(line[0]))


def _field(text: str, name: str) -> str:
    found = re.search(rf"^#\s*{name}\s*:\s*(.*?)\s*$", text, re.MULTILINE)
    return found[1] if found else ""


# --- NetPIPE ---

#: A line of any version: version 5 has decimal prefixes for sizes and rates, and may have colours.
_NETPIPE_LINE = re.compile(
    r"^\s*\d+:\s+(\d{1,15}(?:\.\d+)?)\s+(bytes|[KMGT]?B)\s.*?-->\s+[\d.]+\s+[KMGT]?bps\s+in\s+"
    r"(\d+(?:\.\d+)?)\s+(usec|msec|sec)",
    re.MULTILINE,
)
_NETPIPE_BEGIN = re.compile(r"^\s*\d+:\s.*\btimes\s+-->", re.MULTILINE)
_NETPIPE_UNITS = {"usec": 1e-6, "msec": 1e-3, "sec": 1.0}
_NETPIPE_SIZES = {"bytes": 1.0, "B": 1.0, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}
_COLOUR = re.compile(r"\x1b\[[\d;]*m")


def _read_netpipe(text: str, name: str, _: Mapping[str, str]) -> Measurement:
    text = _COLOUR.sub("", text)
    printed = _NETPIPE_LINE.findall(text)
    if len(printed) < (lines := len(_NETPIPE_BEGIN.findall(text))):
        raise UsageError(
            f"{name}: lines must have the form 'N: SIZE bytes|B … --> RATE bps in TIME usec', got {len(printed)} of "
            f"{lines} lines that do"
        )
    if printed:
        rows = [
            SizeRow(round(float(size) * _NETPIPE_SIZES[word]), Estimate.alone(float(time) * _NETPIPE_UNITS[unit]))
            for size, word, time, unit in printed
        ]
    else:
        size, time, unit = _netpipe_columns(text, name)
        rows = list(_table(text, name, (size, time), _latency(unit)))
    return _measurement(rows, f"NetPIPE ({name})")


def _netpipe_columns(text: str, name: str) -> tuple[int, int, float]:
    """Return the columns of size and time in np.out, and the unit of time.

    Versions differ, but in all of them the columns must agree: size / time is the throughput in another column.
    """
    lines = [[_number(word) for word in line.split()] for line in text.splitlines() if line.strip()]
    lines = [line for line in lines if len(line) >= 3 and all(number > 0 for number in line[:3])]
    for size, rate, time in ((0, 1, 2), (3, 1, 0)):
        for unit in (1.0, 1e-3, 1e-6):
            usable = [line for line in lines if len(line) > max(size, rate, time)]
            if usable and all(_agree(line[size], line[rate], line[time] * unit) for line in usable[-5:]):
                return size, time, unit
    raise UsageError(f"{name}: np.out must have columns of bytes, Mbit/s and seconds that agree, got others")


def _agree(size: float, rate: float, seconds: float) -> bool:
    """Tell whether a throughput equals size over time, in units of 10^6, 2^20 or 10^9 bit/s."""
    bits = size * 8 / seconds
    return any(abs(bits / (rate * mega) - 1) < 0.02 for mega in (1e6, 2.0**20, 1e9))


# --- CSV ---

_COLUMN = re.compile(r"^\s*([A-Za-z_ ]+?)\s*(?:[(\[]\s*([^)\]]+?)\s*[)\]]\s*)?$")
_CSV_FIGURES: Mapping[str, Callable[[float], _Figure]] = {
    **dict.fromkeys(("latency", "one_way", "half_round_trip", "one way", "half round trip"), _latency),
    **dict.fromkeys(("blocked", "sender_blocked", "send"), _blocked),
    **dict.fromkeys(("gap", "time_per_message"), _gap),
    "bandwidth": _bandwidth,
}
_CSV_RULE = "columns must be one_way, blocked, gap or bandwidth with a unit, such as one_way (us) or bandwidth (MB/s)"
_BENCHMARKS: Mapping[str, _Figure] = {"osu_latency": _latency(1e-6), "osu_bw": _bandwidth(_MEGA, _WINDOW)}
_VALUES = ("median", "value", "mean", "average", "avg")


def _read_csv(text: str, name: str, where: Mapping[str, str]) -> Measurement:
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    separator = ";" if lines and ";" in lines[0] and "," not in lines[0] else ","
    table = csv.DictReader(lines, skipinitialspace=True, delimiter=separator)
    try:
        rows = list(table)
    except csv.Error as error:
        raise UsageError(f"{name}: lines must be comma-separated values, got: {error}") from None
    columns = [column for column in table.fieldnames or () if column]
    if twice := [column for column, times in Counter(columns).items() if times > 1]:
        raise UsageError(f"{name}: columns must have distinct names, got {twice[0]} twice")
    missing = [column for column in ("size", *where) if column not in columns]
    if missing:
        got = ", ".join(columns) or "none"
        raise UsageError(f"{name}: columns must include {', '.join(missing)}, got {got}")
    for row in rows:
        # A decimal comma would cut a number in two, and the rest of it would be ignored.
        further = row.get(None) or ()
        if any(cell.strip() for cell in further):
            most = len(table.fieldnames or ())
            raise UsageError(
                f"{name}: rows must have at most {count_of(most, 'cell')}, as many as the header, got "
                f"{most + len(further)} in that of size {row['size']}"
            )
    rows = [row for row in rows if all(fnmatchcase(row[column] or "", where[column]) for column in where)]
    if not rows:
        wanted = (
            f"rows must match {_chosen(where)}, got none that do" if where else "rows must follow the header, got none"
        )
        raise UsageError(f"{name}: {wanted}")
    found = list(_long_rows(rows, columns, name, where) if "benchmark" in columns else _wide_rows(rows, columns, name))
    others = [row["benchmark"] for row in rows if row.get("benchmark", "osu_bw") not in _BENCHMARKS]
    notes = [*([_UNSTATED] if any(row.window for row in found) else []), *_unused(name, others)]
    return _measurement(found, name + (f" ({_chosen(where)})" if where else ""), notes=notes)


def _chosen(where: Mapping[str, str]) -> str:
    return ", ".join(f"{column}={pattern}" for column, pattern in where.items())


def _wide_rows(rows: Sequence[Mapping[str, str]], columns: Sequence[str], name: str) -> Iterator[SizeRow]:
    figures = {column: figure for column in columns if (figure := _csv_figure(column, name)) is not None}
    if not figures:
        raise UsageError(f"{name}: {_CSV_RULE}, got {', '.join(columns)}")
    for row in rows:
        size = _size(row, name)
        for column, figure in figures.items():
            if (row[column] or "").strip():
                yield figure(size, _cell(row, column, name))


def _csv_figure(column: str, name: str) -> _Figure | None:
    """Return the conversion of a column, by its name and unit: ``one_way (us)``, ``bandwidth [MB/s]``.

    Raises:
        UsageError: If its name is known, but not its unit: its figures must not be missing without a word.
    """
    match = _COLUMN.match(column)
    what = match[1].lower() if match else ""
    if match is None or what not in _CSV_FIGURES:
        return None
    is_time = what != "bandwidth"
    try:
        unit = parse_quantity(f"1 {match[2] or ''}", Quantity.TIME if is_time else Quantity.BANDWIDTH)
    except ValueError:
        unit = 0.0
    # The units of long times are words for something else here: latency (min) is the least one.
    if not unit or (is_time and unit > 1):
        raise UsageError(f"{name}: {_CSV_RULE}, got {column}")
    return _CSV_FIGURES[what](unit)


def _long_rows(
    rows: Sequence[Mapping[str, str]], columns: Sequence[str], name: str, where: Mapping[str, str]
) -> Iterator[SizeRow]:
    """Yield rows of a table that names the benchmark of each row; skip those of other benchmarks."""
    value = next((column for column in _VALUES if column in columns), None)
    if value is None:
        raise UsageError(f"{name}: columns must have one of {', '.join(_VALUES)}, got {', '.join(columns)}")
    seen: dict[tuple[str, int], Mapping[str, str]] = {}
    for row in rows:
        figure = _BENCHMARKS.get(row["benchmark"])
        size = _size(row, name)
        if figure is None:
            continue
        other = seen.setdefault((row["benchmark"], size), row)
        if other is not row:
            differing = [column for column in columns if other[column] != row[column] and column != value]
            raise UsageError(
                f"{name}: {row['benchmark']} at {size} B must appear once, got it twice: "
                f"choose by {' or '.join(differing) or 'removing one'}" + (f" beside {_chosen(where)}" if where else "")
            )
        yield figure(size, _cell(row, value, name))


def _cell(row: Mapping[str, str], column: str, name: str) -> float:
    number = _number((row[column] or "").strip())
    if math.isnan(number):
        at = "" if column == "size" else f" of size {row['size']}"
        raise UsageError(f"{name}: {column}{at} must be a number not below 0, got {row[column]!r}")
    return number


def _size(row: Mapping[str, str], name: str) -> int:
    size = _cell(row, "size", name)
    if size != int(size):
        raise UsageError(f"{name}: size must be a whole number of bytes, got {row['size']!r}")
    return int(size)


#: Readers by form.
FORMS: Mapping[str, Callable[[str, str, Mapping[str, str]], Measurement]] = {
    "osu": _read_osu,
    "imb": _read_imb,
    "netpipe": _read_netpipe,
    "csv": _read_csv,
}
#: Pattern that identifies each form, in the order in which they are tried.
_SIGNS = {
    "imb": r"^#\s*Benchmarking\s",
    "osu": r"^#\s*(OSU |Size\s)",
    "netpipe": r"^\s*\d+:\s+[\d.]+\s+(bytes|[KMGT]?B)\b.*[KMGT]?bps|^\s*[\d.eE+-]+(\s+[\d.eE+-]+){2,4}\s*\Z",
    "csv": r"^[^#\n]*\bsize\b[^\n]*[,;]|^[^#\n]*[,;][^\n]*\bsize\b",
}
