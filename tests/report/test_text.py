"""The tables for the terminal: what they must hold, at 100 columns and without a terminal."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from io import StringIO

import numpy as np
import pytest
from rich.console import Console, RenderableType

from clue.machine import Contention, Curve, Flows, LinkNoise, Machine, NoContention, NodeNoise, Ports
from clue.machine.contention.topology import Dragonfly, FatTree, Switch, Switches, Torus
from clue.predict.application import Application
from clue.purchase import Component, Criterion, Option, Scenario, Workload
from clue.purchase.costs import Sheet
from clue.purchase.outcome import OptionCost
from clue.report.machine.text import machine_text
from clue.report.ranking.text import ranking_text
from clue.report.result.text import result_text
from clue.report.scenario.text import scenario_text
from clue.report.shared.warnings import warnings_text
from clue.report.trace.text import trace_text
from clue.result import Result
from clue.trace import Flag, Op, TraceBuilder
from clue.uncertainty import Sampled, Sampling, Spread
from clue.units import YEAR
from tests.report.cases import BUDGET, by_makespan, machine, many_ranks, ranking, result, trace


def rendered(text: RenderableType | None, width: int = 100) -> str:
    """Return the text as a file would get it, lines without their trailing blanks."""
    file = StringIO()
    Console(file=file, width=width).print(text)
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines())


def row(text: str, begin: str) -> str:
    """Return the first line that begins so, with single blanks."""
    return next(line for line in map(" ".join, map(str.split, text.splitlines())) if f"{line} ".startswith(f"{begin} "))


def test_result_shows_every_rank_in_one_unit() -> None:
    """Each rank has node, finish, its three parts, and the share of computing."""
    text = rendered(result_text(result(), "pingpong"))
    assert text.startswith("pingpong")
    assert row(text, "makespan") == "makespan 4 s"
    assert "finish (s)" in text
    assert row(text, "0 0") == "0 0 4.0000 2.0000 1.0000 1.0000 50.0%"
    assert row(text, "1 1") == "1 1 3.0000 1.0000 0.0000 2.0000 33.3%"


def test_result_shows_regions_messages_and_warnings() -> None:
    """Regions, traffic and warnings have their places."""
    text = rendered(result_text(result()))
    assert row(text, "solve") == "solve 1 s 33.3%"
    assert row(text, "messages") == "messages 5 (4 KB)"
    assert text.endswith("Warnings\n- pair: no contention is stated")


def test_many_ranks_are_summed_up() -> None:
    """Beyond 32 ranks there are least, mean and most, and those that finish last."""
    text = rendered(result_text(many_ranks(100)))
    assert row(text, "least").startswith("least 1.00 1.00 ")
    assert row(text, "mean").startswith("mean 50.50 50.50 ")
    assert row(text, "most").startswith("most 100.00 100.00 ")
    assert row(text, "99 99").startswith("99 99 100.00 ")
    assert "\n  91" not in text
    assert len(text.splitlines()) < 30


def test_exactly_32_ranks_are_listed() -> None:
    """The table is cut only where it would hold more than 32 ranks."""
    assert row(rendered(result_text(many_ranks(32))), "0 0")


def test_an_empty_result_is_no_fault() -> None:
    """A program that does nothing has a makespan of 0 s."""
    text = rendered(result_text(Result(0.0, "reference", result().ranks[:0])))
    assert row(text, "makespan") == "makespan 0 s"


def test_ranking_shows_position_price_score_split_makespan_and_points() -> None:
    """An option's line holds all that it is judged by, and its workloads and kernels follow."""
    text = rendered(ranking_text(ranking()))
    assert "ranked by points (higher is better); budget 300,000 ATS" in text
    first = "1 Cheap 295,000 ATS 195.0 small 3 × 6 (2 idle) in 2 turns 8 s 48.8"
    assert row(text, "1 Cheap") == first
    assert row(text, "large") == "large 3 × 6 (2 idle) in 2 turns 16 s 146.2"
    assert row(text, "cholesky") == "cholesky 8 s 73.1"
    assert text.index("Cheap") < text.index("Fine")


def test_ranking_says_why_options_have_no_position() -> None:
    """Options that cannot run or be paid stand below the table with their reason."""
    text = rendered(ranking_text(ranking()))
    assert "Not ranked\n- Small: large: a rank needs 900 MB\n- Gold (500,000 ATS): costs more than the budget" in text
    assert text.endswith("Warnings\n- Cheap: curve from published values")


def test_ranking_without_any_position_says_so() -> None:
    """Where nothing can be ranked there is no empty table."""
    nothing = replace(ranking(), entries=ranking().entries[:1])
    assert "No option can be ranked." in rendered(ranking_text(nothing))


def test_names_are_not_markup() -> None:
    """What looks like rich's markup is printed as it is."""
    assert "[red]first[/red]" in rendered(ranking_text(by_makespan()))


def test_other_criteria_have_no_points() -> None:
    """A ranking by makespan has no column of points, and scores with their unit."""
    text = rendered(ranking_text(by_makespan()))
    assert "points" not in text
    assert row(text, "1 [red]first[/red]").startswith("1 [red]first[/red] – 8 s ")


@pytest.mark.parametrize("width", [60, 80, 100])
def test_no_line_is_wider_than_asked(width: int) -> None:
    """Tables shrink to the width there is."""
    for text in (ranking_text(ranking()), ranking_text(by_makespan()), machine_text(machine()), trace_text(trace())):
        assert max(map(len, rendered(text, width).splitlines())) <= width


def test_trace_shows_calls_and_what_is_not_modelled() -> None:
    """Calls have count, bytes and time; those that a simulation leaves out are told again."""
    text = rendered(trace_text(trace()))
    assert row(text, "Sendrecv") == "Sendrecv 2 1 KB 12 ms"
    assert row(text, "Win.Put 1") == "Win.Put 1 500 ms not modelled"
    assert "Not modelled: a simulation leaves these calls out\n- Win.Put: 1 call that took 500 ms" in text


def test_only_calls_that_are_left_out_are_counted_as_such() -> None:
    """Of 29 waits of half a second one is for what is not modelled; a wait for both counts without its time."""
    built = TraceBuilder(1)
    for _ in range(28):
        built[0].add(Op.WAIT, call="Wait", request=0, took=500_000_000)
    built[0].add(Op.OTHER, call="Wait", took=500_000_000)
    built[0].add(Op.WAIT, call="Waitall", extras=(1, 2), took=500_000_000)
    built[0].add(Op.OTHER, call="Waitall", flags=Flag.CONTINUED)
    text = rendered(trace_text(built.build()))
    assert row(text, "Wait") == "Wait 29 14.5 s 1 not modelled"
    assert "- Wait: 1 call that took 500 ms when recorded\n- Waitall: 1 call\n" in text


def test_trace_shows_regions_communicators_and_memory() -> None:
    """Regions have their speed, communicators their size, ranks their memory."""
    text = rendered(trace_text(trace()))
    assert row(text, "solve") == "solve 1 1.5 s 3e+09 2,000 Mflop/s"
    assert row(text, "Split") == "Split 2 0"
    assert row(text, "0 5") == "0 5 1.5 s 6 ms 100 MB"


def test_machine_shows_nodes_delays_contention_and_source() -> None:
    """A machine's table holds what its description says, and what a message of a few sizes takes."""
    text = rendered(machine_text(machine()))
    assert row(text, "pc") == "pc 2 2 256 MB 20,000 ATS 1"
    assert "0 (as recorded)" in text
    assert row(text, "between nodes send").endswith("send 10 us 11 us 74 us 1.01 ms")
    assert row(text, "total") == "total 55 us 66 us 693.4 us 10.01 ms"
    assert "eager up to 64 KB" in text
    expected = "contention factor on both delays by simultaneous messages: 1: ×1, 4: ×1.5"
    assert row(text, "contention") == expected
    assert "parameters change at 10 s of virtual time" in text
    assert row(text, "source") == "source by hand"
    assert text.endswith("Notes\n- made up for a test")


def test_both_directions_of_a_pair_are_one_link() -> None:
    """A pair whose directions are alike is shown once."""
    text = rendered(machine_text(machine()))
    assert text.count("big – pc") == 1
    assert "→" not in text


@pytest.mark.parametrize(
    ("contention", "words"),
    [
        (NoContention(), "none: messages do not slow each other, however many there are"),
        (
            Ports(),
            "ports: each node sends one message after the other, and receives so; a message keeps a port for the",
        ),
        (Ports(Curve.line(1e-6, 1e-9)), "a port for 0 B: 1 us, 1 KB: 2 us, 64 KB: 65 us, 1 MB: 1.001 ms"),
        (Flows(Switch(1e9)), "one switch, 1 GB/s a node; 6 links, bisection 1 GB/s each way"),
        (
            Flows(Switches(2, 1e9, 2.0)),
            "switches of 2 nodes, 1 GB/s a node, uplinks of 1 GB/s (2:1); 10 links, bisection 1 GB/s each way",
        ),
        (
            Flows(FatTree((2, 4), (1, 2), (1, 1), (1e9, 2e9))),
            "fat tree 2;2,4;1,2;1,1 (levels;down;up;links), 1 GB/s, 2 GB/s a link; 8 places, 32 links, "
            "bisection 4 GB/s each way",
        ),
        (Flows(Torus((2, 2), 1e9)), "torus 2 × 2, 1 GB/s a link; 4 places, 8 links, bisection 2 GB/s each way"),
        (
            Flows(Dragonfly(2, 2, 1, 1e9, 2e9, 3e9)),
            "dragonfly of 2 groups × 2 routers × 1 nodes, 1 GB/s a node, 2 GB/s within a group, 3 GB/s between groups; "
            "4 places, 14 links, bisection 2 GB/s each way",
        ),
    ],
)
def test_machine_says_how_messages_slow_each_other_down(contention: Contention, words: str) -> None:
    """Every model in words, a topology with its links and bisection; the absence of contention is a statement too."""
    given = Machine("m", machine().nodes, replace(machine().network, contention=contention))
    assert words in " ".join(rendered(machine_text(given)).split())


def test_a_machine_of_one_node_says_nothing_of_contention() -> None:
    """There is nobody to contend with."""
    alone = Machine("m", machine().nodes[:1], replace(machine().network, contention=Ports()))
    assert "contention" not in rendered(machine_text(alone))


def test_scenario_shows_workloads_and_options() -> None:
    """A comparison that was not simulated shows what has to run and what could be bought."""
    work = Workload("large", (Component("all", Application(trace="t")),), instances=None, ranks=(4, 6))
    scenario = Scenario("which", (work,), (Option("Mixed", machine(), BUDGET),), budget=BUDGET)
    text = rendered(scenario_text(scenario))
    assert row(text, "large") == "large all as many as fit 4, 6 1"
    assert row(text, "Mixed") == "Mixed mixed 3 6 300,000 ATS"


def test_warnings_are_told_once() -> None:
    """The same warning of several simulations is one line; no warnings are no block."""
    assert rendered(warnings_text(["a: b", "a: b", "c: d"])) == "Warnings\n- a: b\n- c: d"
    assert warnings_text([]) is None


def test_colour_is_for_terminals_that_want_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file gets no escape codes, nor does a terminal under NO_COLOR get a colour."""
    assert "\x1b" not in rendered(result_text(result()))
    monkeypatch.setenv("NO_COLOR", "1")
    file = StringIO()
    Console(file=file, width=100, force_terminal=True).print(result_text(result()))
    assert "\x1b[33" not in file.getvalue()


def test_packages_are_light_until_used() -> None:
    """Importing tables and documents loads neither rich nor numpy, so that the command starts at once."""
    heavy = "{'rich', 'numpy', 'matplotlib'} & set(sys.modules)"
    subjects = ("machine", "ranking", "result", "scenario", "trace")
    light = [f"clue.report.{subject}.{form}" for subject in subjects for form in ("document", "text")]
    light += ["clue.report.ranking.tables", "clue.report.result.tables", "clue.report.timeline"]
    script = f"import sys, {', '.join(light)}; sys.exit(bool({heavy}))"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_trace_tells_what_recording_cost() -> None:
    """Two ops at 5 us on a rank of 1 ms are 1 % of its run time; the rank with one op has less."""
    builder = TraceBuilder(2)
    builder[0].send(1, 8)
    builder[0].send(1, 8)
    builder[1].recv(0)
    built = builder.build()
    heads = tuple(replace(each, wall=1e-3) for each in built.head.rank_heads)
    costly = replace(built, head=replace(built.head, overhead=5e-6, rank_heads=heads))
    assert "5 us a call, at most 1.00% of the run time" in rendered(trace_text(costly))


def test_machine_says_how_sure_its_figures_are() -> None:
    """In percent, of nodes and of links; nothing where nothing is stated."""
    plain = machine()
    network = replace(plain.network, between_nodes=replace(plain.network.between_nodes, noise=LinkNoise(0.05, 0.1)))
    nodes = tuple(replace(node, noise=NodeNoise(0.03, 0.02)) for node in plain.nodes)
    shown = rendered(machine_text(replace(plain, nodes=nodes, network=network)))
    assert "pc: noise of 3 % in each burst" in shown
    assert "pc: noise of 2 % in the performance factor" in shown
    assert "between nodes: noise of 5 % in send and receive delays" in shown
    assert "between nodes: noise of 10 % in transmission delays" in shown
    assert "noise" not in rendered(machine_text(plain))


def test_a_sampled_result_and_ranking_show_their_intervals() -> None:
    """10th and 90th percentile of 11 samples from 3.5 to 4.5 s; a score and a probability beside an option."""
    sampling = Sampling(11, 7)
    shown = rendered(result_text(result(), sampled=Sampled(sampling, np.linspace(3.5, 4.5, 11), 4.0, reasons=("why",))))
    assert "3.6 s to 4.4 s, median 4 s (11 samples, seed 7)" in shown
    assert "its width" in shown and "why" in shown
    spread = Spread(90.0, 95.0, 100.0)
    entries = tuple(replace(each, spread=spread, best=0.25) if each.score else each for each in ranking().entries)
    shown = rendered(ranking_text(replace(ranking(), entries=entries, sampling=sampling)))
    assert "90.0 to 100.0" in shown
    assert "25%" in shown
    assert "11 samples of the stated noise (seed 7)" in shown


def test_a_ranking_shows_what_options_cost_over_their_life() -> None:
    """Item by item, with energy and carbon; a dash where nothing is stated; and the front."""
    sheet = Sheet({"purchase": 1e6, "energy": 123_456.0, "residual": -50_000.0}, 0.125, 3.6e12, 350_000.0)
    powered = OptionCost(sheet, "ATS", {}, {}, 2, 40.0, 9e3, ())
    rented = OptionCost(Sheet({"purchase": 0.0, "cloud": 99.5}, 0.5, None, None), "ATS", {}, {}, 0, 0.0, None, ())
    figures = {Criterion.TOTAL_COST: 1.0, Criterion.MAKESPAN: 2.0}
    costs = {"Fine": powered, "Cheap": rented}
    entries = tuple(
        replace(each, cost=costs[each.option], figures=figures) if each.position else each for each in ranking().entries
    )
    asked = replace(ranking(), entries=entries, life=5 * YEAR, discount_rate=0.03, pareto=("Cheap", "Fine"))
    shown = rendered(ranking_text(asked))
    assert "Costs over 5 years, discounted at 3.0% a year, ATS" in shown
    assert re.search(r"option +total +purchase +energy +cloud +residual +busy +MWh +t CO2", shown)
    assert re.search(r"Cheap +99.50 +0.00 +– +99.50 +– +50.0% +– +–", shown)
    assert re.search(r"Fine +1,073,456 +1,000,000 +123,456 +– +-50,000 +12.5% +1,000 +350", shown)
    assert "Pareto front by total cost, makespan: Cheap; Fine" in shown
    assert "Costs over" not in rendered(ranking_text(ranking()))
