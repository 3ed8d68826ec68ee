"""Output of clue's values in Python sessions and notebooks is short, complete and escaped; and data frames."""

from __future__ import annotations

import sys
from dataclasses import replace
from html.parser import HTMLParser
from typing import Protocol

import pytest
from hypothesis import given
from hypothesis import strategies as st

import clue
from clue.config import SimulationConfig
from clue.display import MOST_ROWS, data_frame, html, short_repr
from clue.errors import UsageError
from clue.extrapolation import Extrapolation, Factor
from clue.extrapolation.making import LocalSize
from clue.predict.application import Application
from clue.purchase import Component, Option, Scenario, Workload
from clue.steady.simulate import Part, Steady
from clue.trace import Op, TraceBuilder
from clue.uncertainty import Sampling, Spread
from clue.units import Money
from tests.report.cases import BUDGET, by_makespan, machine, many_ranks, ranking, result, trace

HOSTILE = '<script>alert("x")</script>\x1b[2J'


class Shown(Protocol):
    """A value that notebooks show as HTML."""

    def _repr_html_(self) -> str: ...


class Reader(HTMLParser):
    """Parses HTML: checks that each element is closed, and keeps elements, attributes and text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Record an element and its attributes."""
        self.open.append(tag)
        self.elements.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_endtag(self, tag: str) -> None:
        """Check that the last open element is closed."""
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Record text."""
        self.text += f"{data}|"


def scenario(name: str = "which") -> Scenario:
    """Return a comparison of two options, the second with the given name."""
    workload = Workload("small", (Component("solve", Application(trace="jacobi.clue")),))
    options = (Option("Cheap", machine(), Money(295_000, "ATS")), Option(name, machine()))
    return Scenario(name, (workload,), options, BUDGET, notes=(name,))


def values(name: str) -> dict[str, Shown]:
    """Return a value of each kind, with the given text as its name or warning."""
    extrapolated = Extrapolation(
        replace(trace(), head=replace(trace().head, program=name)),
        4000,
        (name,),
        Factor(4.0, 2.0),
        (LocalSize(2, 9.0, 1.0, 4.0),),
    )
    return {
        "result": replace(result(), warnings=(name,)),
        "ranking": replace(ranking(), scenario=name, warnings=(name,)),
        "machine": replace(machine(), name=name, notes=(name,)),
        "trace": replace(trace(), head=replace(trace().head, program=name, notes=(name,))),
        "extrapolation": extrapolated,
        "scenario": scenario(name),
        "sampled": Steady(replace(result(), warnings=(name,)), 70, (Part(name, 100, 10),), 3.9, 4.2),
        "simulation": SimulationConfig(name, Application(trace=name), machine(), 2),
    }


@pytest.mark.parametrize("kind", values(""))
def test_names_are_text(kind: str) -> None:
    """A hostile name becomes neither an element nor an attribute nor a control sequence."""
    value = values(HOSTILE)[kind]
    page = Reader(value._repr_html_())
    assert page.elements <= {"div", "strong", "table", "thead", "tbody", "tr", "th", "td", "ul", "li", "p"}
    assert page.attributes <= {"style"}
    assert '<script>alert("x")</script>\\x1b[2J' in page.text
    assert "\x1b" not in repr(value)


@pytest.mark.parametrize("kind", values(""))
def test_a_repr_is_one_short_line(kind: str) -> None:
    """The repr is one line below 250 characters, however long the name is."""
    for name in ("plain", "x" * 10_000, "a\nb"):
        shown = repr(values(name)[kind])
        assert len(shown) < 250 and "\n" not in shown
        assert shown.startswith("<") and shown.endswith(">")


def test_reprs_tell_what_matters() -> None:
    """The repr has the class, the name and the main figures."""
    assert repr(result()) == "<Result: 4 s, 2 ranks, 7 ops>"
    assert repr(ranking()) == "<Ranking: which-cluster, 4 options, first Cheap>"
    assert repr(replace(ranking(), entries=ranking().entries[:1])) == "<Ranking: which-cluster, 1 option, none ranked>"
    assert repr(machine()) == "<Machine: mixed, 3 nodes, 6 processors>"
    assert repr(trace()) == f"<Trace: program.py, 3 ranks, {len(trace().ops)} ops>"
    assert repr(scenario()) == "<Scenario: which, 1 workload, 2 options>"
    assert repr(values("x")["sampled"]) == "<Steady: 4 s, 7 of 70 ops>"
    assert repr(values("x")["simulation"]) == "<SimulationConfig: x, 2 ranks, on mixed>"


def test_a_ranking_shows_order_splits_reasons_and_warnings() -> None:
    """Options are in order, with one row per workload; those without a position have the reason."""
    text = Reader(ranking()._repr_html_()).text
    assert text.index("Cheap|") < text.index("Fine|") < text.index("Small: large: a rank needs 900 MB|")
    assert "1|Cheap|295,000 ATS|195.0|small|3 × 6|8 s|" in text
    assert "Gold: costs more than the budget|Cheap: curve from published values|" in text
    assert "|8 s|large|" in Reader(by_makespan()._repr_html_()).text


def test_a_program_that_is_replayed_as_a_whole_has_no_interval() -> None:
    """Only the estimate from a part has an interval; the whole replay's would have a width of 0."""
    whole = Steady(result(), 7, (), 4.0, 4.0, "no loop has enough iterations")
    part = values("x")["sampled"]
    assert "80 % interval|3.9 s to 4.2 s" in Reader(part._repr_html_()).text
    assert "80 % interval" not in Reader(whole._repr_html_()).text


def test_scores_of_a_ranking_are_as_in_the_terminal() -> None:
    """A total cost of 123,456 ATS has all its digits, 83.04 points have one decimal, and 90 s are a time."""
    placed = ranking().entries[3]
    for unit, score, shown in (("ATS", 123_456.0, "123,456 ATS"), ("points", 83.04, "83.0"), ("s", 90.0, "90 s")):
        of = replace(ranking(), unit=unit, entries=(replace(placed, score=score),))
        assert f"1|Cheap|295,000 ATS|{shown}|small|" in Reader(of._repr_html_()).text


def test_a_ranking_with_samples_shows_intervals_and_why_positions_are_shared() -> None:
    """Options that samples cannot tell apart share a position: without intervals nobody sees why."""
    entries = tuple(
        replace(each, position=1, spread=Spread(80.0, 90.0, 200.0), best=share)
        for each, share in zip((ranking().entries[3], ranking().entries[1]), (0.87, 0.13), strict=True)
    )
    text = Reader(replace(ranking(), entries=entries, sampling=Sampling(200))._repr_html_()).text
    assert "#|option|price|score|score, 80% interval|best|workload|" in text
    assert "1|Cheap|295,000 ATS|195.0|80.0 to 200.0|87%|small|" in text
    assert "1|Fine|298,500 ATS|83.0|80.0 to 200.0|13%|small|" in text
    assert "200 samples; options share a position unless the first of it is better in 90% of them" in text
    assert "interval" not in Reader(ranking()._repr_html_()).text


def test_a_ranking_counts_options_that_come_later_and_names_a_few_others() -> None:
    """Of 30 options that cannot run, 20 are named; 5,000 that are not among the first share a line."""
    _, _, small, cheap = ranking().entries
    unable = (replace(small, option=f"unable {i}") for i in range(30))
    later = (replace(small, option=f"later {i}", reason="not among the first 1", bound=7.0) for i in range(5000))
    text = Reader(replace(ranking(), entries=(cheap, *later, *unable))._repr_html_()).text
    assert "unable 19: large: a rank needs 900 MB|and 10 more|5,000 options: not among the first 1|" in text
    assert "unable 20" not in text and "later 0" not in text


def test_a_result_shows_the_first_ranks_and_how_many_there_are() -> None:
    """Of a thousand ranks the first rows are shown, and the number of all rows."""
    text = Reader(many_ranks(1000)._repr_html_()).text
    assert f"The first {MOST_ROWS} of 1,000 rows." in text
    assert "19|19|20 s|" in text and "20|20|21 s|" not in text


def test_a_machine_shows_what_messages_take() -> None:
    """8 B take 10 us + 8 ns to send, 40 us + 0.08 us to travel, and 5 us to receive."""
    text = Reader(machine()._repr_html_()).text
    assert "8 B takes 55.09 us" in text
    assert "pc|2|2|256 MB|1.0|20,000 ATS|" in text


def test_a_trace_shows_its_calls() -> None:
    """The call that took longest, half a second, is first."""
    text = Reader(trace()._repr_html_()).text
    assert text.index("Win.Put|1|500 ms|") < text.index("Sendrecv|2|12 ms|")


def test_bursts_of_a_trace_are_no_calls() -> None:
    """A burst after the only call, at the end of the program, is not listed among the calls."""
    built = TraceBuilder(1)
    built[0].collective(Op.BARRIER)
    built[0].compute(1.0)
    text = Reader(built.build()._repr_html_()).text
    assert "|Barrier|1|" in text
    assert "|Compute|" not in text


@given(st.lists(st.lists(st.one_of(st.none(), st.text(), st.integers()), min_size=2, max_size=2)), st.text())
def test_any_table_is_well_formed(rows: list[list[object]], title: str) -> None:
    """Any table gives well-formed HTML of the expected elements."""
    page = Reader(html(title, [(title, title)], ("a", title), rows, [title]))
    assert page.elements <= {"div", "strong", "table", "thead", "tbody", "tr", "th", "td", "ul", "li", "p"}


def test_empty_words_are_left_out() -> None:
    """Empty words are omitted, so a value without a name shows its class."""
    assert short_repr(BUDGET, "", "x") == "<Money: x>"
    assert short_repr(BUDGET, "") == "<Money>"


# --- data frames ---


def test_a_ranking_as_a_data_frame() -> None:
    """Each workload on each option is a row, in order; columns have units, and unknown figures are missing."""
    pytest.importorskip("pandas")
    frame = ranking().to_pandas()
    assert list(frame["option"]) == ["Cheap", "Cheap", "Fine", "Fine", "Small", "Gold"]
    assert list(frame["makespan (s)"][:2]) == [8.0, 16.0]
    assert frame["score (points)"][0] == 195.0 and frame["price (ATS)"][0] == 295_000
    assert frame["makespan (s)"].isna().sum() == 2
    assert [str(frame[name].dtype) for name in ("position", "affordable", "ranks")] == ["Int64", "bool", "Int64"]


def test_other_values_as_data_frames() -> None:
    """Results, machines, scenarios and extrapolations become data frames with figures that were computed by hand."""
    pytest.importorskip("pandas")
    ranks = result().to_pandas()
    assert list(ranks["compute (s)"] + ranks["communicate (s)"] + ranks["wait (s)"]) == list(ranks["finish (s)"])
    nodes = machine().to_pandas()
    assert (list(nodes["node type"]), list(nodes["nodes"]), nodes["memory (B)"][0]) == (["pc", "big"], [2, 1], 256e6)
    assert list(scenario().to_pandas()["processors"]) == [6, 6]
    extrapolated = values("x")["extrapolation"]
    assert isinstance(extrapolated, Extrapolation)
    assert list(extrapolated.to_pandas()["local size"]) == ["size^2 / ranks"]


def test_a_trace_as_a_data_frame() -> None:
    """Each op is a row, with names instead of codes; the burst before the first op is 1.5 s."""
    pytest.importorskip("pandas")
    frame = trace().to_pandas()
    assert len(frame) == len(trace().ops)
    first = frame.iloc[0][["rank", "op", "call", "peer", "bytes", "region"]]
    assert list(first) == [0, "SEND", "Send", 1, 1000, "solve"]
    assert frame["burst (s)"][0] == 1.5
    assert frame.groupby("rank").size().tolist() == [len(trace().rank(rank)) for rank in range(3)]


def test_bytes_of_a_data_frame_are_those_that_ranks_send() -> None:
    """On 4 ranks, an Alltoall of blocks of 8 B sends 32 B, as the Alltoallv of these blocks; only a root broadcasts."""
    pytest.importorskip("pandas")
    built = TraceBuilder(4)
    for rank in built:
        rank.collective(Op.ALLTOALL, 8)
        rank.collective(Op.ALLTOALLV, extras=(8, 8, 8, 8))
        rank.collective(Op.BCAST, 100, root=1, element=8)
    frame = built.build().to_pandas()
    assert frame["bytes"].tolist() == [32, 32, 0, 32, 32, 100, 32, 32, 0, 32, 32, 0]


def test_ops_of_a_data_frame_have_no_partner_or_tag_where_there_is_none() -> None:
    """A broadcast has a root, but no tag; a reduction of numbers of 8 B, a wait and a burst have neither."""
    pytest.importorskip("pandas")
    built = TraceBuilder(2)
    for rank in built:
        rank.collective(Op.BCAST, 100, root=1, element=8)
        rank.collective(Op.ALLREDUCE, 8, element=8)
    built[0].wait(built[0].isend(1, 5, tag=7))
    built[0].compute(1.0)
    built[1].recv(0, tag=7)
    frame = built.build().to_pandas()
    assert frame["peer"].tolist() == [1, -1, 1, -1, -1, 1, -1, 0]
    assert frame["tag"].tolist() == [-1, -1, 7, -1, -1, -1, -1, 7]


def test_without_pandas_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only data frames need pandas; without it, the error says how to install it."""
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(UsageError, match=r'pandas, which is not installed: pip install "clue\[pandas\]"'):
        data_frame({"x": [1]})
    with pytest.raises(clue.UsageError):
        ranking().to_pandas()
