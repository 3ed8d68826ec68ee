"""All sets of unseen cases beside each other, each as it was looked at.

``python -m benchmarks.accuracy.unseen.sets [-o benchmarks/accuracy/unseen_sets/README.md]``
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks.accuracy.unseen.figures import COLUMNS, UnseenCase, Worth, close_pairs, repeatability
from benchmarks.accuracy.unseen.tables import read_csv, share_text
from benchmarks.page import markdown_table, notes_beside, write_page

_ACCURACY = Path(__file__).parents[1]
#: The page, beside the tables and pages of all sets but the last one.
PAGE = _ACCURACY / "unseen_sets" / "README.md"
_EARLIER = (
    "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh",
)  # fmt: skip
#: The table of each set that was looked at, in order; the benchmark writes that of the frozen one as ``unseen.csv``.
TABLES = {name: PAGE.with_name(f"{name}_set.csv") for name in _EARLIER} | {"twelfth": _ACCURACY / "unseen.csv"}
#: Columns of the model, each with the column of sums of latency and size / bandwidth from the same computation.
_SUMS = {"user": "user_baseline", "calibrated": "calibrated_baseline", "hindsight": "baseline"}


def main() -> int:
    """Write the page; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy.unseen.sets", description=__doc__)
    parser.add_argument("-o", "--output", type=Path, help="file of the page (default: standard output)")
    asked = parser.parse_args()
    write_page(page(), asked.output)
    return 0


def page() -> str:
    """Return the page."""
    # Late cases that were measured again on dilated clusters have a second row, but earlier sets have none of these.
    sets = {name: [case for case in read_csv(table) if case.dilation == 1] for name, table in TABLES.items()}
    return "\n".join([*_opening(), *_all(sets), *_replayed(sets), *_live(sets), *notes_beside(PAGE)]).rstrip() + "\n"


def _opening() -> Iterator[str]:
    yield from (
        "# Unseen programs on unseen machines: all sets",
        "",
        "Written by `python -m benchmarks.accuracy.unseen.sets`.",
        "",
        "Each set has programs and machines that nobody had predicted when the model was frozen. After a look at it",
        "the model may be changed, and the next set judges the result. The page of each set explains its columns,",
        "and says how often it was looked at and what it showed. *Sums* are estimates without a simulation, by latency",
        "and size / bandwidth, from the same recordings. *Near pairs* are machines whose times differ by at most 25 %;",
        "*by half of the runs* says how often half of the runs of two machines have the same order as the other half:",
        "where runs hardly repeat their own order, a wrong one says little about a prediction.",
        "",
    )


def _all(sets: Mapping[str, Sequence[UnseenCase]]) -> Iterator[str]:
    """Yield the table of what users get, over all cases."""
    yield from ("## What a user gets: a plain recording, nominal factors, calibrated links", "")
    head = (
        "set", "cases", "mean error", "90th percentile", "sums: mean error", "runs within 80 % intervals",
        "near pairs of machines in the right order", "the same by sums", "by half of the runs",
        "pairs whose runs do not overlap", "the same by sums", "worst choice takes longer by", "the same by sums",
    )  # fmt: skip
    yield from markdown_table(head, (_user(name, cases) for name, cases in sets.items()))
    yield ""


def _user(name: str, cases: Sequence[UnseenCase]) -> list[str]:
    clue, sums = (Worth.of(cases, COLUMNS[column]) for column in ("user", _SUMS["user"]))
    covered = sum(case.covered for case in cases) / len(cases)
    runs = repeatability(close_pairs(cases))
    shares = (clue.ordered, sums.ordered, runs, clue.distinct, sums.distinct, clue.regret, sums.regret)
    return [
        f"[{name}]({_page_of(name)})", str(len(cases)), f"{clue.mean:.1%}", f"{clue.most:.1%}", f"{sums.mean:.1%}",
        f"{covered:.0%}", *map(share_text, shares),
    ]  # fmt: skip


def _page_of(name: str) -> str:
    """Return the path of a set's page, relative to this one."""
    return os.path.relpath(TABLES[name].with_suffix(".md"), PAGE.parent)


def _replayed(sets: Mapping[str, Sequence[UnseenCase]]) -> Iterator[str]:
    """Yield the table of the programs that are replayed, by what is known about their computation."""
    yield from ("## Where errors come from: mean errors of the programs that are replayed", "")
    head = ("set", "cases", *(f"{column}{of}" for column in _SUMS for of in ("", ": sums")))
    yield from markdown_table(head, (_means(name, cases) for name, cases in sets.items()))
    yield ""


def _means(name: str, cases: Sequence[UnseenCase]) -> list[str]:
    replayed = [case for case in cases if not case.live]
    columns = (each for pair in _SUMS.items() for each in pair)
    return [name, str(len(replayed)), *(f"{Worth.of(replayed, COLUMNS[column]).mean:.1%}" for column in columns)]


def _live(sets: Mapping[str, Sequence[UnseenCase]]) -> Iterator[str]:
    """Yield the table of the programs that are run live: one row each."""
    yield from ("## Programs that take whatever message arrives first: errors of live runs, as a user", "")
    live = [(name, case) for name, cases in sets.items() for case in cases if case.live]
    lines = []
    for name, program in dict.fromkeys((name, case.program) for name, case in live):
        off = [abs(case.user / case.measured - 1) for of, case in live if (of, case.program) == (name, program)]
        figures = (sum(off) / len(off), min(off), max(off))
        lines.append([name, program, str(len(off)), *(f"{each:.0%}" for each in figures)])
    yield from markdown_table(("set", "program", "machines", "mean error", "least", "most"), lines)
    yield ""


if __name__ == "__main__":
    sys.exit(main())
