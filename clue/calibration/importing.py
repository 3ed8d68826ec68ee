"""Reading what people have measured already: text of known benchmarks in, a :class:`Measurement` out.

============ =========================================================================================================
osu          OSU micro-benchmarks: osu_latency (half round trips), osu_bw (time per message of a stream); others in the
             same file are passed over
imb          Intel MPI Benchmarks: PingPong (half round trips); other benchmarks in the same file are passed over
netpipe      NetPIPE: what it prints, or its np.out (half round trips)
csv          a column ``size`` in bytes, and times with their unit in the head, or rows of several OSU benchmarks
============ =========================================================================================================

Text only: no file is opened here.
"""

from __future__ import annotations

import csv
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from clue.calibration.measurement import Estimate, Measurement, SizeRow, rows_by_size
from clue.errors import UsageError
from clue.trace.meaning import LARGEST
from clue.units import Quantity, parse_quantity

#: What a figure of a row is made of: the size in bytes, and the number in the file.
_Figure = Callable[[int, float], SizeRow]

_MEGA = 1e6
#: Seconds that a message can take: less or more is a slip in the unit, or no time at all.
_SHORTEST, _LONGEST = 1e-12, 1e6
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
#: Messages that osu_bw sends before it waits for an answer.
_OSU_WINDOW = 64


def _latency(unit: float) -> _Figure:
    return lambda size, number: SizeRow(size, one_way=Estimate.alone(number * unit))


def _blocked(unit: float) -> _Figure:
    return lambda size, number: SizeRow(size, blocked=Estimate.alone(number * unit))


def _gap(unit: float) -> _Figure:
    return lambda size, number: SizeRow(size, gap=Estimate.alone(number * unit))


def _bandwidth(unit: float, window: int = 0) -> _Figure:
    """A bandwidth is the reciprocal of the time per message; that of an empty message says nothing."""
    return lambda size, number: (
        SizeRow(size, gap=Estimate.alone(size / (number * unit)), window=window) if size and number else SizeRow(size)
    )


def read_benchmark(
    text: str, name: str, form: str | None = None, where: Mapping[str, str] | None = None
) -> Measurement:
    """Read a benchmark's output.

    Args:
        text: All of it.
        name: What it is called in messages: usually the file's name.
        form: One of :data:`FORMS`; left out: told from the text.
        where: For CSV: which rows count, as patterns (``*`` and ``?``) by column.

    Raises:
        UsageError: If it is not of that form, or holds no times.
    """
    text = text.removeprefix("\ufeff")
    form = form or _form_of(text, name)
    if form not in FORMS:
        raise UsageError(f"{name}: form must be one of {', '.join(FORMS)}, got {form!r}")
    if where and form != "csv":
        raise UsageError(f"{name}: rows must be chosen in CSV only, got a file of form {form}")
    measurement = FORMS[form](text, name, where or {})
    measurement = replace(measurement, source=measurement.source.replace(name, name.rsplit("/", 1)[-1]))
    if not any(row.one_way or row.blocked or row.gap for row in measurement.rows):
        raise UsageError(f"{name}: times must be there by message size, got none in the form {form}")
    for row in measurement.rows:
        _check(row, name)
    return measurement


def _check(row: SizeRow, name: str) -> None:
    """Check that a row has figures that any network could have."""
    if row.size > LARGEST:
        raise UsageError(f"{name}: sizes must be at most {LARGEST} B, got {row.size}")
    for each in (row.one_way, row.blocked, row.gap):
        if each is not None and each.value and not _SHORTEST <= each.value <= _LONGEST:
            rule = f"times of messages must be 0 or from {_SHORTEST:g} to {_LONGEST:g} s"
            raise UsageError(f"{name}: {rule}, got {each.value:g} for {row.size} B")


def _form_of(text: str, name: str) -> str:
    if not text.strip():
        raise UsageError(f"{name}: times must be there by message size, got an empty file")
    for form, pattern in _SIGNS.items():
        if re.search(pattern, text, re.MULTILINE):
            return form
    raise UsageError(f"{name}: form must be one of {', '.join(FORMS)}, got none that is known: name it")


def _number(word: str) -> float:
    """Return a number that is finite and not below 0, else NaN."""
    try:
        number = float(word)
    except ValueError:
        return float("nan")
    return number if 0 <= number < float("inf") else float("nan")


def _table(text: str, name: str, columns: tuple[int, int], figure: _Figure, begin: int = 0) -> Iterator[SizeRow]:
    """Yield a row for each line that begins with a number: the size and the figure stand in these columns.

    Args:
        text: The whole file.
        name: Of the file.
        columns: Of the size and of the figure.
        figure: What the figure is.
        begin: Where the table begins; it ends where the next one begins (at a line that begins with ``#`` after rows).

    Raises:
        UsageError: If there is no such number in a row.
    """
    line_number, some = text.count("\n", 0, begin), False
    for line in text[begin:].splitlines():
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
_OSU_TITLE = re.compile(r"OSU MPI\S*\s+(Persistent\s+)?(Latency|Bandwidth)\s+Test\b", re.IGNORECASE)
#: Column of a head, up to its unit, and what it is.
_OSU_FIGURES = (
    (re.compile(r"^(avg\s+)?latency\s*\(us\)", re.IGNORECASE), _latency(1e-6)),
    (re.compile(r"^bandwidth\s*\(mb/s\)|^mb/s", re.IGNORECASE), _bandwidth(_MEGA, _OSU_WINDOW)),
)


def _read_osu(text: str, name: str, _: Mapping[str, str]) -> Measurement:
    """Read osu_latency and osu_bw; with several columns (percentiles), the first counts, which is the average."""
    title, titles, others = "", list[str](), list[str]()
    rows: list[SizeRow] = []
    for head in _OSU_HEAD.finditer(text):
        words = head[1].strip()
        if words.startswith("OSU"):
            title = words
            continue
        column = words.split(maxsplit=1)[1]
        figure = next((figure for sign, figure in _OSU_FIGURES if sign.match(column)), None)
        if title and not _OSU_TITLE.match(title):
            others.append(title)
        elif figure is None:
            raise UsageError(
                f'{name}: head of the table must be "# Size  Latency (us)" or "Bandwidth (MB/s)", got {words}'
            )
        else:
            titles.append(title)
            rows += _table(text, name, (0, 1), figure, head.end())
    if not titles:
        got = ", ".join(others) or "no table"
        raise UsageError(f"{name}: benchmark must be osu_latency or osu_bw, got {got}")
    named = ", ".join(dict.fromkeys(filter(None, titles)))
    return Measurement(rows_by_size(rows), source=f"{named} ({name})" if named else name)


# --- Intel MPI Benchmarks ---


def _read_imb(text: str, name: str, _: Mapping[str, str]) -> Measurement:
    heads = re.finditer(r"^#\s*Benchmarking\s+PingPong\s*$", text, re.MULTILINE)
    rows = [row for head in heads for row in _table(text, name, (0, 2), _latency(1e-6), head.end())]
    if not rows:
        raise UsageError(f'{name}: PingPong must be among the benchmarks ("# Benchmarking PingPong"), got none')
    return Measurement(
        rows_by_size(rows),
        mpi=_field(text, "MPI Version"),
        date=_field(text, "Date"),
        source=f"Intel MPI Benchmarks PingPong ({name})",
    )


def _field(text: str, name: str) -> str:
    found = re.search(rf"^#\s*{name}\s*:\s*(.*?)\s*$", text, re.MULTILINE)
    return found[1] if found else ""


# --- NetPIPE ---

_NETPIPE_LINE = re.compile(
    r"^\s*\d+:\s+(\d+)\s+(?:bytes|B)\b.*?([\d.]+)\s+([MG])bps\s+in\s+([\d.]+)\s+(usec|msec|sec)", re.MULTILINE
)
_NETPIPE_UNITS = {"usec": 1e-6, "msec": 1e-3, "sec": 1.0}


def _read_netpipe(text: str, name: str, _: Mapping[str, str]) -> Measurement:
    printed = _NETPIPE_LINE.findall(text)
    if printed:
        rows = [
            SizeRow(int(size), one_way=Estimate.alone(float(time) * _NETPIPE_UNITS[unit]))
            for size, _rate, _prefix, time, unit in printed
        ]
    else:
        size, time, unit = _netpipe_columns(text, name)
        rows = list(_table(text, name, (size, time), _latency(unit)))
    return Measurement(rows_by_size(rows), source=f"NetPIPE ({name})")


def _netpipe_columns(text: str, name: str) -> tuple[int, int, float]:
    """Return which columns of np.out hold size and time, and the unit of time.

    Versions differ; what they share is that the columns must agree: size / time is the throughput that is there too.
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
    """Tell whether a throughput is that of a size in a time, in 10^6, 2^20 or 10^9 bit/s."""
    bits = size * 8 / seconds
    return any(abs(bits / (rate * mega) - 1) < 0.02 for mega in (1e6, 2.0**20, 1e9))


# --- CSV ---

_COLUMN = re.compile(r"^\s*([A-Za-z_ ]+?)\s*[(\[]\s*([^)\]]+?)\s*[)\]]\s*$")
_TIMES: Mapping[str, Callable[[float], _Figure]] = {
    **dict.fromkeys(("latency", "one_way", "half_round_trip", "one way", "half round trip"), _latency),
    **dict.fromkeys(("blocked", "sender_blocked", "send"), _blocked),
    **dict.fromkeys(("gap", "time_per_message"), _gap),
}
_BENCHMARKS: Mapping[str, _Figure] = {"osu_latency": _latency(1e-6), "osu_bw": _bandwidth(_MEGA, _OSU_WINDOW)}
_VALUES = ("median", "value", "mean", "average", "avg")


def _read_csv(text: str, name: str, where: Mapping[str, str]) -> Measurement:
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    separator = ";" if lines and ";" in lines[0] and "," not in lines[0] else ","
    table = csv.DictReader(lines, skipinitialspace=True, delimiter=separator)
    rows = list(table)
    columns = [column for column in table.fieldnames or () if column]
    if twice := [column for column, times in Counter(columns).items() if times > 1]:
        raise UsageError(f"{name}: columns must have names of their own, got {twice[0]} twice")
    missing = [column for column in ("size", *where) if column not in columns]
    if missing:
        got = ", ".join(columns) or "none"
        raise UsageError(f"{name}: columns must be there: {', '.join(missing)}, got {got}")
    rows = [row for row in rows if all(fnmatchcase(row[column] or "", where[column]) for column in where)]
    if not rows:
        wanted = (
            f"rows must match {_chosen(where)}, got none that do" if where else "rows must follow the head, got none"
        )
        raise UsageError(f"{name}: {wanted}")
    found = _long_rows(rows, columns, name, where) if "benchmark" in columns else _wide_rows(rows, columns, name)
    return Measurement(rows_by_size(found), source=name + (f" ({_chosen(where)})" if where else ""))


def _chosen(where: Mapping[str, str]) -> str:
    return ", ".join(f"{column}={pattern}" for column, pattern in where.items())


def _wide_rows(rows: Sequence[Mapping[str, str]], columns: Sequence[str], name: str) -> Iterator[SizeRow]:
    figures = {column: figure for column in columns if (figure := _csv_figure(column)) is not None}
    if not figures:
        known = "one_way, blocked, gap or bandwidth with a unit, such as one_way (us) or bandwidth (MB/s)"
        raise UsageError(f"{name}: columns must be {known}, got {', '.join(columns)}")
    for row in rows:
        size = _size(row, name)
        for column, figure in figures.items():
            if (row[column] or "").strip():
                yield figure(size, _cell(row, column, name))


def _csv_figure(column: str) -> _Figure | None:
    """Return what a column holds, by its name and unit: ``one_way (us)``, ``bandwidth [MB/s]``."""
    match = _COLUMN.match(column)
    if match is None:
        return None
    what, unit = match[1].lower(), match[2]
    try:
        if what == "bandwidth":
            return _bandwidth(parse_quantity(f"1 {unit}", Quantity.BANDWIDTH))
        return _TIMES[what](parse_quantity(f"1 {unit}", Quantity.TIME)) if what in _TIMES else None
    except ValueError:
        return None


def _long_rows(
    rows: Sequence[Mapping[str, str]], columns: Sequence[str], name: str, where: Mapping[str, str]
) -> Iterator[SizeRow]:
    """Yield rows of a table that names the benchmark of each; those of other benchmarks are passed over."""
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
                f"{name}: {row['benchmark']} at {size} B must stand once, got it twice: "
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


#: Readers by the name of their form.
FORMS: Mapping[str, Callable[[str, str, Mapping[str, str]], Measurement]] = {
    "osu": _read_osu,
    "imb": _read_imb,
    "netpipe": _read_netpipe,
    "csv": _read_csv,
}
#: What shows a form, in the order in which they are tried.
_SIGNS = {
    "imb": r"^#\s*Benchmarking\s",
    "osu": r"^#\s*(OSU |Size\s)",
    "netpipe": r"^\s*\d+:\s+\d+\s+(bytes|B)\b.*[MG]bps|^\s*[\d.eE+-]+(\s+[\d.eE+-]+){2,4}\s*\Z",
    "csv": r"^[^#\n]*\bsize\b[^\n]*[,;]|^[^#\n]*[,;][^\n]*\bsize\b",
}
