"""Contents of explanations as text, documents and pictures."""

from __future__ import annotations

import json
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from clue.explain import Explanation, Sensitivity, explain
from clue.kernel import compile_program
from clue.machine import Placement
from clue.report.explanation.document import explanation_document
from clue.report.explanation.plot import draw_explanation, plot_explanation
from clue.report.explanation.text import explanation_text
from clue.trace import TraceBuilder
from clue.trace.sites import Frame, Site
from tests.kernel.cases import RECEIVE, machine, sending, transmission
from tests.report.pictures import bars, texts

MAKESPAN = 4.0 + sending(1) + transmission(1) + RECEIVE


def explanation(ranks: int = 2, *, messages: bool = True) -> Explanation:
    """Explain a chain of messages: rank 0 computes 3 s and sends 1 KB to rank 1.

    Each further rank computes 1 s after the message from the previous rank, and then sends 1 KB to the next.
    """
    trace = TraceBuilder(ranks)
    trace[0].compute(3.0, "solve $x_1$")
    for rank in range(1, ranks):
        if messages:
            trace[rank - 1].send(rank, 1000)
            trace[rank].recv(rank - 1)
        trace[rank].compute(1.0, "")
    program = compile_program(trace.build())
    return explain(program, machine(ranks), Placement(tuple(range(ranks))))


def text_of(explained: Explanation) -> list[str]:
    """Return the lines of the explanation at 120 columns, with single blanks."""
    file = StringIO()
    Console(file=file, width=120).print(explanation_text(explained))
    return [" ".join(line.split()) for line in file.getvalue().splitlines()]


def test_call_sites_are_named() -> None:
    """The text and the document list each call site on the critical path, with its times over all ranks.

    Two sites of the same name are told apart by their callers.
    """
    main, other = Frame("p.py", "<module>", 90, 1), Frame("p.py", "<module>", 95, 1)
    dot = Frame("lib/p.py", "solve.<locals>.dot", 10, 1)
    trace = TraceBuilder(2)
    trace[0].at(Site((main, dot)))
    trace[0].compute(3.0)
    trace[0].send(1, 1000)
    trace[1].at(Site((other, dot)))
    trace[1].recv(0)
    explained = explain(compile_program(trace.build()), machine(), Placement((0, 1)))
    lines, makespan = text_of(explained), 3.0 + sending(1) + transmission(1) + RECEIVE
    assert f"p.py:10 dot p.py:90 3.0000 0.1130 {(makespan - RECEIVE) / makespan:.1%} 3 s 0 s 1 KB" in lines
    assert f"p.py:10 dot p.py:95 0.0000 0.0010 {RECEIVE / makespan:.1%} 0 s 3.113 s" in lines
    first, second = json.loads(json.dumps(explanation_document(explained)["sites"]))
    assert (first["site"], first["name"], first["function"]) == (1, "p.py:10", "solve.<locals>.dot")
    assert (first["called_from"], first["share"] + second["share"]) == (["p.py:90"], pytest.approx(1))
    figures = ("computing", "calls", "messages", "compute", "communicate", "wait", "nbytes")
    assert [first[each] for each in figures] == pytest.approx(
        [3.0, sending(1), transmission(1), 3.0, sending(1), 0.0, 1000]
    )
    assert [second[each] for each in figures] == pytest.approx([0, RECEIVE, 0, 0, RECEIVE, makespan - RECEIVE, 0])
    assert "where it arises\n(call site)" in texts(draw_explanation(explained, "a title"))


def test_without_call_sites_that_is_told() -> None:
    """If a trace has no call sites, the text says so, and the document has none."""
    told = "Where in the program this arises is not known: the trace has no call sites; record it again"
    assert told in text_of(explanation())
    assert explanation_document(explanation())["sites"] is None


def test_text_holds_path_ranks_efficiencies_and_sensitivities() -> None:
    """Each figure of the explanation appears in its table."""
    lines = text_of(explanation())
    assert f"computation solve $x_1$ host 3.0000 {3 / MAKESPAN:.1%}" in lines
    assert f"computation (no region) host 1.0000 {1 / MAKESPAN:.1%}" in lines
    assert f"transmission host → host 0.1020 {0.102 / MAKESPAN:.1%}" in lines
    assert f"makespan {MAKESPAN:.4f}" in lines
    assert any(line.startswith("0 0 host 3.0000 0.0110 0.1020") for line in lines)
    assert any(line.startswith("serialisation 75.0%") for line in lines)
    assert (
        f"node_types.host.performance_factor -{0.4 / MAKESPAN:.2%} +{0.4 / MAKESPAN:.2%} +{4 / MAKESPAN:.3f}" in lines
    )
    assert "No effect at all: network.between_nodes.eager_limit" in lines
    assert any(line.startswith("Less than 0.01%: network.between_nodes.") for line in lines)


def test_text_of_many_ranks_counts_those_left_out() -> None:
    """The text lists eight of ten ranks and counts the others; of nine ranks, one is left."""
    assert "and 2 more ranks with less" in text_of(explanation(10))
    assert "and 1 more rank with less" in text_of(explanation(9))


def test_text_of_a_program_without_messages_has_no_processor_sharing() -> None:
    """Parts that take no time are not shown."""
    lines = text_of(explanation(messages=False))
    assert not any(line.startswith(("transmission", "processor sharing")) for line in lines)


def test_text_of_a_program_that_takes_no_time() -> None:
    """A program that takes no time is explained without an error, and without a table that would be empty."""
    program = compile_program(TraceBuilder(2).build())
    lines = text_of(explain(program, machine(), Placement((0, 1))))
    assert lines[0].startswith("Sensitivity")
    assert not any(line.startswith("parameter") for line in lines)
    assert any(line.startswith("No effect at all: node_types.host.performance_factor") for line in lines)


def test_document_is_json_and_adds_up() -> None:
    """Parts and ranks add up to the makespan, efficiencies multiply, and the first parameter has its figures."""
    document = json.loads(json.dumps(explanation_document(explanation()), allow_nan=False))
    assert document["engine"] == "reference"
    for each in ("critical_path", "ranks_on_path"):
        assert sum(row["seconds"] for row in document[each]) == pytest.approx(MAKESPAN)
        assert sum(row["share"] for row in document[each]) == pytest.approx(1)
    found = document["efficiencies"]
    assert found["parallel"] == pytest.approx(found["load_balance"] * found["communication"])
    first = document["sensitivities"][0]
    assert first["parameter"] == "node_types.host.performance_factor"
    assert (first["lower"], first["higher"]) == pytest.approx((MAKESPAN - 0.4, MAKESPAN + 0.4))
    assert first["elasticity"] == pytest.approx(4 / MAKESPAN)
    assert [row["region"] for row in document["critical_path"]] == ["solve $x_1$", "", None, None, None]


def test_picture_is_drawn(tmp_path: Path) -> None:
    """The picture is a PNG named explanation.png."""
    path = plot_explanation(explanation(), tmp_path, "a title")
    assert path.name == "explanation.png"
    assert path.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("ranks", [1, 2, 40])
def test_picture_names_what_it_shows(ranks: int) -> None:
    """Regions, parts and parameters have labels; dollar signs in names are not typeset as mathematics."""
    found = texts(draw_explanation(explanation(ranks), "a title"))
    assert "host.performance_factor" in found
    assert any(text.startswith("computation: solve $x_1$ (") for text in found)
    assert any(text.startswith("transmission (") for text in found) == (ranks > 1)
    assert ("16 others" in found) == (ranks == 40)


def test_picture_of_nothing() -> None:
    """A program that takes no time, on a machine whose parameters have no effect, can be drawn."""
    program = compile_program(TraceBuilder(1).build())
    drawn = draw_explanation(explain(program, machine(), Placement((0,))), "nothing")
    assert "None of 1 parameters changes the makespan by 0.01%" in texts(drawn)


def test_a_deadlock_on_one_side_does_not_cut_the_bar_on_the_other() -> None:
    """A program of 1 s deadlocks with a parameter 10 % lower, and takes 1.5 s with it 10 % higher: all is shown."""
    deadlocking = Sensitivity("network.between_nodes.eager_limit", None, 1.5, 1.0)
    drawn = draw_explanation(replace(explanation(), sensitivities=(deadlocking,)), "a title")
    tornado = drawn.axes[1]
    assert [bar.get_width() for bar in bars(tornado)] == pytest.approx([0.0, 0.5])
    assert tornado.get_xlim() == pytest.approx((-0.55, 0.55))
