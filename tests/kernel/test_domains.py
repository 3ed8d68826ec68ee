"""Links between the domains of a node, by hand; ranks fill the processors of a node in order."""

from __future__ import annotations

from dataclasses import replace

import pytest

from clue.explain import explain
from clue.kernel import Candidate, compile_program, contention_free, simulate
from clue.machine import Curve, Link, Machine, Placement
from clue.trace import TraceBuilder
from tests.kernel.cases import ENGINES, RECEIVE, SEND, TRANSMIT, machine, need_fast_engine

#: A link without send delay, so that messages arrive after their transmission delay.
ACROSS = Link(Curve.line(0.0), Curve.line(5.0))
WITHIN = (SEND + TRANSMIT + RECEIVE) / 10


def with_domains(nodes: int, processors: int, domains: int) -> Machine:
    """Return nodes of one or more domains, with a link across domains."""
    on = machine(nodes, processors=processors, domains=domains)
    return replace(on, network=replace(on.network, across_domains=ACROSS))


def to_each(ranks: int) -> TraceBuilder:
    """Return a program in which rank 0 sends an empty message to every other rank."""
    trace = TraceBuilder(ranks)
    for rank in range(1, ranks):
        trace[0].send(rank, 0)
        trace[rank].recv(0)
    return trace


@pytest.mark.parametrize(
    ("nodes", "domains"),
    [
        ((0, 0, 0, 0), [0, 0, 1, 1]),
        # The fifth rank of a node of four processors shares the first of them.
        ((0, 0, 0, 0, 0), [0, 0, 1, 1, 0]),
        # Ranks of a node count in order, also if ranks of other nodes are in between.
        ((0, 1, 0, 1, 0, 1), [0, 0, 0, 0, 1, 1]),
    ],
)
def test_ranks_fill_the_processors_of_their_node_in_order(nodes: tuple[int, ...], domains: list[int]) -> None:
    """On nodes with two domains of two processors each, ranks have the expected domains."""
    assert list(with_domains(2, 4, 2).domains(nodes)) == domains


@ENGINES
def test_messages_between_domains_go_by_a_link_of_their_own(engine: str) -> None:
    """Rank 0's message stays in the domain to rank 1, crosses domains in 5 s to 2 and 3, and leaves the node to 4."""
    result = simulate(to_each(5).build(), with_domains(2, 4, 2), (0, 0, 0, 0, 1), engine)
    sent = SEND / 10
    assert [rank.finish for rank in result.ranks[1:]] == pytest.approx(
        [WITHIN, sent + 5, sent + 5, sent + SEND + TRANSMIT + RECEIVE], rel=1e-12
    )


def test_a_sweep_tells_domains_apart() -> None:
    """A sweep uses the link across domains if the two ranks of a node are in two domains, else the one within."""
    need_fast_engine()
    program = compile_program(to_each(2).build())
    where = [Candidate(with_domains(1, 2, domains), Placement((0, 0))) for domains in (1, 2, 1)]
    seconds, exact = contention_free(program, where, engine="fast")
    assert exact.all()
    assert seconds.tolist() == pytest.approx([WITHIN, 5, WITHIN], rel=1e-12)


def test_a_link_across_domains_has_parameters_where_ranks_use_it() -> None:
    """The link across domains is a parameter (10 % add 0.5 s) only if ranks of different domains communicate."""
    on = with_domains(1, 4, 2)
    name = "network.across_domains.transmission_delay.latency"
    found = {
        each.parameter: each
        for each in explain(compile_program(to_each(3).build()), on, Placement((0, 0, 0))).sensitivities
    }
    assert found[name].higher == pytest.approx(found[name].makespan + 0.5)
    inside = explain(compile_program(to_each(2).build()), on, Placement((0, 0))).sensitivities
    assert name not in {each.parameter for each in inside}


def test_several_ranks_of_a_node_without_memory_contention_are_named() -> None:
    """A machine without memory contention has one caveat if several ranks share a node.

    There is none with one rank per node, with a single processor, or if the contention is stated.
    """

    def said(on: Machine, nodes: tuple[int, ...]) -> list[str]:
        result = simulate(to_each(len(nodes)).build(), on, nodes)
        return [each for each in result.warnings if "no memory contention is stated for host" in each]

    assert len(said(machine(2, processors=2), (0, 0, 1, 1))) == 1
    assert said(machine(2, processors=2), (0, 1)) == []
    assert said(machine(1), (0, 0)) == []
    assert said(machine(1, processors=2, memory_contention={2: {"": 1.0}}), (0, 0)) == []
