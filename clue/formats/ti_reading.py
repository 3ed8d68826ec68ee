"""Reading SimGrid's time-independent traces: actions are translated into clue's ops.

Sizes are numbers of elements, which may be written as 1e6. The number of their datatype ends the line; otherwise they
have the default datatype that ``init`` sets, 8 B with an argument and 1 B without. Files are read as columns, because
they are long.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np

from clue.errors import UsageError
from clue.files import exists
from clue.formats.growing import ended
from clue.formats.remarks import Converted, Remarks
from clue.formats.ti_actions import CALLS, FLOPS_PER_SECOND
from clue.formats.ti_lines import ActionLines, Faults, understand
from clue.formats.ti_requests import Events, match
from clue.formats.words import Integers, Lines, Mask, read_lines
from clue.machine import MOST_RANKS
from clue.trace import NO_REQUEST, Flag, Op
from clue.trace.builder import RankColumns, trace_of

_CONTINUED = int(Flag.CONTINUED)
_RANK = 0
#: Actions that begin a request, end one, test one, and end all requests.
_REQUESTS = ("isend", "irecv"), ("wait",), ("test",), ("waitall",)


def read_ti(path: Path, *, flops_per_second: float = FLOPS_PER_SECOND) -> Converted:
    """Read time-independent traces.

    Args:
        path: A file that lists one file of actions per rank, or a single one for all ranks.
        flops_per_second: Speed at which flops become CPU seconds.

    Raises:
        UsageError: If a file is missing; or with all lines whose action is unknown, or whose numbers are invalid.
    """
    if not flops_per_second > 0:
        raise UsageError(f"flops per second must be above 0, got {flops_per_second}")
    remarks = Remarks()
    ranks = []
    faults: list[str] = []
    for rank, (lines, size) in enumerate(_ranks(path, remarks)):
        try:
            said = understand(lines, rank, size, flops_per_second, remarks)
        except UsageError as error:
            faults += error.faults
        else:
            _tell_of_missing_ends(lines, said, remarks)
            ranks.append(_Assembly(said, remarks).ops())
    if faults:
        raise UsageError(faults)
    note = f"read from SimGrid's time-independent traces at {flops_per_second:g} flop/s"
    trace = trace_of(ranks, path.name, notes=[note, *remarks.lines], calls=["", *CALLS])
    return Converted(trace, remarks.lines)


def _tell_of_missing_ends(lines: Lines, said: ActionLines, remarks: Remarks) -> None:
    """Remark on a rank whose file seems to be cut off."""
    words = "rank has no actions and does nothing|ranks have no actions and do nothing"
    remarks.count(words, times=int(len(lines) == 0))
    words = (
        "rank has an init but no finalize: its actions may be cut off|"
        "ranks have an init but no finalize: their actions may be cut off"
    )
    remarks.count(words, times=int(said.are("init").any() and not said.are("finalize").any()))


def _ranks(path: Path, remarks: Remarks) -> Iterator[tuple[Lines, int]]:
    """Yield each rank's lines and the number of ranks."""
    files = read_lines(path)
    if not len(files):
        raise UsageError(f"{path}: list must name a file of actions for each rank, got none")
    merged = _merged(_actions(files, 0)) if len(files) == 1 else ()
    for lines in merged:
        yield lines, len(merged)
    skipped, first = 0, ""
    for rank in range(0 if merged else len(files)):
        lines = _actions(files, rank)
        own = _of_rank(lines, rank, files.place(rank))
        if others := int((~own).sum()):
            skipped += others
            first = first or lines.place(int(np.argmin(own)))
        yield lines.where(own), len(files)
    words = (
        "line in the file of a rank does not begin with that rank and is|"
        "lines in the files of ranks do not begin with these ranks and are"
    )
    remarks.count(words, f"left out, as by SimGrid: first {first}", skipped)


def _actions(files: Lines, line: int) -> Lines:
    """Return the lines of the file named by a line of the list.

    Names are relative to the list. SimGrid writes those in folders relative to the folder in which it runs.
    """
    name = files.content(line)
    beside, here = files.text.file.parent / name, Path(name)
    from_here = "/" in name and exists(here) and not exists(beside)
    return read_lines(here if from_here else beside, files.place(line))


def _of_rank(lines: Lines, rank: int, named: str) -> Mask:
    """Tell which lines in the file of a rank are its own; like SimGrid, skip the others.

    Raises:
        UsageError: If all are skipped. The list, named at a place, is probably in the order of names: t.0, t.1, t.10.
    """
    ranks, good = lines.whole(np.arange(len(lines)), _RANK)
    own: Mask = good & (ranks == rank)
    if len(lines) and not own.any():
        rule = f"file must have actions of rank {rank}, as the list has a file for each rank in their order"
        raise UsageError(f"{named}: {lines.text.file}: {rule}, got {lines.words(0)[0]!r} as the rank of its first line")
    return own


def _merged(lines: Lines) -> list[Lines]:
    """Return the lines of each rank in a file for all ranks."""
    rank, good = lines.whole(np.arange(len(lines)), _RANK)
    good &= rank >= 0
    faults = Faults(lines)
    faults.note(np.flatnonzero(~good), "line must begin with a rank", lambda line: repr(lines.words(line)[0]))
    faults.tell()
    _check_ranks(lines, rank)
    order = np.argsort(rank, kind="stable")
    bounds = np.searchsorted(rank[order], np.arange(rank.max(initial=-1) + 2))
    return [lines.where(order[begin:end]) for begin, end in pairwise(bounds.tolist())]


def _check_ranks(lines: Lines, rank: Integers) -> None:
    """Check that no rank below the largest is missing: a typo in a large number could exhaust the memory."""
    if not len(rank):
        raise UsageError(f"{lines.text.file}: file must have actions, got none")
    line, known = int(np.argmax(rank)), np.unique(rank)
    if rank[line] >= MOST_RANKS:
        raise UsageError(f"{lines.place(line)}: rank must be below {MOST_RANKS}, got {rank[line]}")
    if len(known) <= rank[line]:
        missing = int(np.argmin(known == np.arange(len(known))))
        raise UsageError(
            f"{lines.place(line)}: rank must have lines of all ranks below it in the file, got {rank[line]} without "
            f"{missing}"
        )


class _Assembly:
    """Converts the lines of a rank to ops: one, none, or three for a ``sendRecv``."""

    def __init__(self, said: ActionLines, remarks: Remarks) -> None:
        self._said, self._remarks = said, remarks
        #: For the op of each line: number of entries in the extra column, and the request if there is only one.
        self._count = np.zeros(len(said.code), np.int64)
        self._request = np.full(len(said.code), NO_REQUEST)
        self._entries = [np.zeros(0, np.int64)]
        self._entry_lines = [np.zeros(0, np.int64)]

    def ops(self) -> RankColumns:
        """Return the ops."""
        said = self._said
        exchanges = said.are("sendRecv")
        self._number_requests(exchanges)
        self._add_entries(said.are("alltoallv"), said.sent)
        self._add_entries(exchanges, self._request[exchanges][:, None] + np.arange(2))
        rows = np.where(exchanges, 3, said.op > 0)
        line = np.repeat(np.arange(len(rows)), rows)
        columns = {name: getattr(said, name)[line] for name in ("op", "peer", "tag", "nbytes")}
        columns |= {"request": self._request[line], "count": self._count[line], "flags": np.zeros_like(line)}
        columns["call"] = said.code[line] + 1  # 0 stands for no call, at the end
        columns["cpu"] = self._bursts(line)
        self._spell_out(columns, (np.cumsum(rows) - rows)[exchanges], said.source[exchanges])
        left = int((said.before + said.after).sum() - columns["cpu"].sum())
        return ended(columns, self._extras(), left)

    @staticmethod
    def _spell_out(columns: dict[str, Integers], first: Integers, source: Integers) -> None:
        """Turn the equal rows of each ``sendRecv`` into three ops."""
        receive, send, wait = first, first + 1, first + 2
        columns["op"][receive], columns["op"][send], columns["op"][wait] = Op.IRECV, Op.ISEND, Op.WAIT
        columns["peer"][receive], columns["peer"][wait] = source, 0
        columns["nbytes"][receive] = columns["nbytes"][wait] = 0
        columns["request"][send] += 1
        columns["request"][wait] = NO_REQUEST
        columns["count"][receive] = columns["count"][send] = 0
        columns["flags"][send] = columns["flags"][wait] = _CONTINUED

    def _number_requests(self, exchanges: Mask) -> None:
        """Find the request of each wait and test, and convert them to ops."""
        said = self._said
        starts, waits, tests, all_open = (said.are(*names) for names in _REQUESTS)
        begun = starts + 2 * exchanges
        before = np.cumsum(begun) - begun
        self._request[starts | exchanges] = before[starts | exchanges]
        span: Integers = np.cumsum(all_open) - all_open
        at = np.flatnonzero(starts | waits | tests)
        found, unended = match(Events(said.request[at], span[at], (starts.astype(np.int64) - waits)[at]))
        numbers, spans = before[starts], span[starts]
        self._wait(at[waits[at]], found[waits[at]], numbers)
        self._test(at[tests[at]], found[tests[at]])
        self._wait_for_all(np.flatnonzero(all_open), numbers[unended], spans[unended])

    def _wait(self, lines: Integers, found: Integers, numbers: Integers) -> None:
        there = found >= 0
        words = "wait has no request left to wait for and is|waits have no request left to wait for and are"
        self._remarks.count(words, "left out", int((~there).sum()))
        self._said.op[lines[there]] = Op.WAIT
        self._request[lines[there]] = numbers[found[there]]

    def _test(self, lines: Integers, found: Integers) -> None:
        """Assume that tests found nothing: the trace does not contain it, and the request stays open for its wait."""
        there = lines[found >= 0]
        self._remarks.count("test is|tests are", "taken as having found nothing", len(there))
        self._said.op[there] = Op.POLL

    def _wait_for_all(self, lines: Integers, requests: Integers, spans: Integers) -> None:
        """Convert each line to a wait for the requests that are open there, which ends a span."""
        counts = np.bincount(spans, minlength=len(lines))
        words = (
            "request is waited for by no action; its rank waits for it at its end|"
            "requests are waited for by no action; ranks wait for them at their end"
        )
        self._remarks.count(words, times=int(counts[-1]))
        self._said.op[lines[counts > 0]] = Op.WAIT
        alone, several = counts[spans] == 1, counts[spans] > 1
        self._request[lines[spans[alone]]] = requests[alone]
        self._count[lines] = np.where(counts > 1, counts, 0)
        self._entries.append(requests[several])
        self._entry_lines.append(lines[spans[several]])

    def _add_entries(self, those: Mask, entries: Integers) -> None:
        """Add entries for the extra column, shape (lines, entries of each)."""
        lines = np.flatnonzero(those)
        self._count[lines] = entries.shape[1]
        self._entries.append(entries.ravel())
        self._entry_lines.append(np.repeat(lines, entries.shape[1]))

    def _extras(self) -> Integers:
        """Return all entries, in the order of their lines."""
        order = np.argsort(np.concatenate(self._entry_lines), kind="stable")
        return np.concatenate(self._entries)[order]

    def _bursts(self, line: Integers) -> Integers:
        """Return the computation before the op of each row; of the rows of a line, only the first has any."""
        done = np.cumsum(self._said.before + self._said.after) - self._said.after
        return np.diff(done[line], prepend=0)
