"""The content of the page of one program on one machine: its makespan, a timeline that can be enlarged, its ranks."""

from __future__ import annotations

from collections.abc import Iterator

from clue.machine import Machine
from clue.printable import printable
from clue.report.page import parts
from clue.report.page.content import LIMITS, sources
from clue.report.page.parts import Cell, Page, Section, Sheet
from clue.report.page.timelines import timeline_of
from clue.report.result.text import interval_of
from clue.report.shared.spending import spending
from clue.result import Result
from clue.uncertainty import Sampled
from clue.units import count_of, format_number, format_time


def content_of(
    result: Result, machine: Machine, title: str, command: str, by: str, *, sampled: Sampled | None = None
) -> Page:
    """Return the content of the page; arguments as for :func:`clue.report.page.result_page`."""
    return Page(
        title=printable(title),
        about=printable(f"{count_of(len(result.ranks))} on {machine.name}, {count_of(len(machine.nodes), 'node')}; "
                        f"simulated by the {result.engine} engine"),
        decision=printable(_sentence(result, sampled)),
        sections=tuple(_sections(result, machine, parts.again(command, by), sampled)),
    )  # fmt: skip


def _sentence(result: Result, sampled: Sampled | None) -> str:
    spent = spending(result)
    takes = f"It takes {format_time(result.makespan)}"
    takes += f", 80 % interval {interval_of(sampled)}" if sampled is not None else ""
    return takes + (f": of its ranks' time {spent}." if spent else ".")


def _sections(result: Result, machine: Machine, again: parts.Again, sampled: Sampled | None) -> Iterator[Section]:
    if result.timeline is not None and result.makespan > 0:
        yield timeline_of(result)
    yield _ranks(result)
    if sampled is not None and sampled.reasons:
        yield parts.lines("interval", "Width of the interval", sampled.reasons)
    if result.warnings:
        yield parts.lines("warnings", "Warnings", map(str, result.warnings))
    yield parts.lines("limits", "Limits of every prediction", LIMITS[:2])
    yield _machine(machine)
    yield again


def _ranks(result: Result) -> Sheet:
    names = ("rank", "node", "finish", "compute", "communicate", "wait")
    rows = [
        (
            Cell(str(each.rank), each.rank),
            Cell(str(each.node), each.node),
            *(Cell(format_time(time), time) for time in (each.finish, each.compute, each.communicate, each.wait)),
        )
        for each in result.ranks
    ]
    return parts.sheet("ranks", "Ranks", [(name, True) for name in names], rows)


def _machine(machine: Machine) -> Sheet:
    columns = [("node type", False), ("nodes", True), ("processors of a node", True), ("source", False)]
    counted: dict[str, int] = {}
    for node in machine.nodes:
        counted[node.name] = counted.get(node.name, 0) + 1
    rows = [
        (Cell(name), Cell(format_number(counted[name]), counted[name]),
         Cell(format_number(node.processors), node.processors), Cell(node.source or "that of the machine"))
        for name, node in machine.node_types().items()
    ]  # fmt: skip
    return parts.sheet("machine", f"Machine {printable(machine.name)}", columns, rows, f"Source: {sources(machine)}.")
