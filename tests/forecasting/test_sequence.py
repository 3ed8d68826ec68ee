"""Sequences of operations on several hosts, with times computed by hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise, product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clue.config import load_sequence
from clue.errors import ConfigError, ForecastError, UsageError
from clue.forecasting.routes import Route
from clue.forecasting.sequence import MOST, Data, Plan, Step, Timeline, forecast_sequence

EXAMPLE = Path(__file__).parents[2] / "examples" / "forecast" / "complex-product.yaml"
#: A product takes 10 s, an addition 1 s; a message of a matrix of 100 B takes 2 s.
SECONDS = {"dgemm": 10.0, "dgeadd": 1.0}
ROUTE = Route(1.0, 100.0)


def seconds(routine: str, _sizes: Mapping[str, int], host: str) -> float:
    """Return the time of a routine, which is twice as long on a slow host."""
    return SECONDS[routine] * (2 if host.startswith("slow") else 1)


def between(source: str, target: str) -> Route:
    """Return the same route between any two different hosts."""
    return Route.within(source) if source == target else ROUTE


def complex_product(*hosts: str | None) -> Plan:
    """Return the paper's sequence of six operations, with matrices of 100 B on the client, on the given hosts."""
    names = ("Cr1", "Ci2", "Cr2", "Ci1")
    reads = (("Ar", "Br"), ("Ai", "Br"), ("Ai", "Bi"), ("Ar", "Bi"))
    sums = (("Cr", ("Cr1", "Cr2")), ("Ci", ("Ci1", "Ci2")))
    steps = [Step(name, "dgemm", {}, of, 100, host) for name, of, host in zip(names, reads, hosts[:4], strict=True)]
    steps += [Step(name, "dgeadd", {}, of, 100, host) for (name, of), host in zip(sums, hosts[4:], strict=True)]
    data = {name: Data(100, "client") for name in ("Ar", "Ai", "Br", "Bi")}
    return Plan(data, tuple(steps), {"Cr": "client", "Ci": "client"}, ("one", "two"))


def test_the_papers_complex_product() -> None:
    """The paper's sequence, followed by hand: the client has Cr at 28 s and Ci at 33 s.

    The client sends Ar, Br, Ai to one (until 2, 4, 6 s), then Ai, Bi, Ar to two (8, 10, 12 s). One computes Cr1 from 4
    to 14 s and Ci2 until 24 s, two computes Cr2 from 10 to 20 s and Ci1 until 30 s. Cr2 reaches one at 22 s, so Cr is
    ready at 25 s; Ci2 reaches two at 26 s, so Ci is ready at 31 s. One sends Ci2 until 26 s and only then Cr, which the
    client has at 28 s; it has Ci at 33 s.
    """
    plan = complex_product("one", "one", "two", "two", "one", "two")
    found = forecast_sequence(plan, seconds, between)
    ends = {(event.what, event.host): event.end for event in found.events}
    assert [ends[name, "one"] for name in ("Ar", "Br", "Ai", "Cr1", "Ci2", "Cr2", "Cr")] == [2, 4, 6, 14, 24, 22, 25]
    assert [ends[name, "two"] for name in ("Ai", "Bi", "Ar", "Cr2", "Ci1", "Ci2", "Ci")] == [8, 10, 12, 20, 30, 26, 31]
    assert (ends["Cr", "client"], ends["Ci", "client"], found.seconds, found.tried) == (28, 33, 33, 1)


def test_hosts_are_chosen_by_trying_all() -> None:
    """All 64 placements are tried; the best is found and is no later than the paper's."""
    free = complex_product(*[None] * 6)
    found = forecast_sequence(free, seconds, between)
    every = [
        forecast_sequence(complex_product(*hosts), seconds, between).seconds
        for hosts in product(("one", "two"), repeat=6)
    ]
    assert (found.seconds, found.tried, found.exhaustive) == (min(every), 64, True) and found.seconds <= 33
    placed = complex_product(*(found.hosts[step.makes] for step in free.steps))
    assert forecast_sequence(placed, seconds, between).seconds == found.seconds


def test_a_slow_host_is_left_alone() -> None:
    """If sending is expensive and the other host is slow, all steps run on the client."""
    plan = replace(complex_product(*[None] * 6), hosts=("client", "slow"))
    dear = forecast_sequence(plan, seconds, lambda a, b: Route.within(a) if a == b else Route(100.0, 1.0))
    assert set(dear.hosts.values()) == {"client"} and dear.seconds == 42


def test_many_steps_are_placed_in_turn() -> None:
    """Many steps are placed one after the other, which is reported as not exhaustive."""
    steps = tuple(Step(f"x{i}", "dgeadd", {}, (), 0) for i in range(20))
    assert MOST < 2**20
    found = forecast_sequence(Plan({}, steps, {}, ("one", "two")), seconds, between)
    assert (found.seconds, found.exhaustive, found.tried) == (10.0, False, 40)


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """Draw sequences in which each step reads data or earlier results."""
    names = [f"d{i}" for i in range(draw(st.integers(1, 3)))]
    hosts = st.sampled_from("abc")
    data = {name: Data(draw(st.floats(0, 1e3)), draw(hosts)) for name in names}
    steps = []
    for i in range(draw(st.integers(1, 6))):
        reads = tuple(draw(st.lists(st.sampled_from(names), max_size=3, unique=True)))
        steps.append(
            Step(f"s{i}", draw(st.sampled_from(sorted(SECONDS))), {}, reads, draw(st.floats(0, 1e3)), draw(hosts))
        )
        names.append(f"s{i}")
    return Plan(data, tuple(steps), {names[-1]: draw(hosts)})


def _one_at_a_time(found: Timeline) -> None:
    """Check that no host computes, sends or receives two things at the same time."""
    doing: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for event in found.events:
        sent = [(event.source, "sends"), (event.host, "receives")]
        for each in sent if event.source else [(event.host, "computes")]:
            doing.setdefault(each, []).append((event.begin, event.end))
    for spans in doing.values():
        assert all(end <= begin + 1e-9 for (_, end), (begin, _) in pairwise(sorted(spans)))


@given(plans())
def test_nothing_is_read_before_it_is_there(plan: Plan) -> None:
    """In any sequence a step begins when all its inputs are on its host, and hosts do one thing at a time."""
    found = forecast_sequence(plan, seconds, between)
    there = {(name, each.host): 0.0 for name, each in plan.data.items()}
    there |= {(event.what, event.host): event.end for event in found.events}
    begins = {event.what: event.begin for event in found.events if not event.source}
    for step in plan.steps:
        assert step.host is not None
        assert all(there[name, step.host] <= begins[step.makes] for name in step.reads)
    assert found.seconds == max(event.end for event in found.events)
    _one_at_a_time(found)


@pytest.mark.parametrize(
    ("steps", "results", "hosts", "said"),
    [
        ([("x", ("y",), "a")], {}, (), "x: what is read must be given as data or made by an earlier step, got y"),
        ([("x", ("x",), "a")], {}, (), "x: what is read must be given as data or made by an earlier step, got x"),
        ([("x", (), "a"), ("x", (), "a")], {}, (), "x: each name must stand for one thing, got it twice"),
        ([("d", (), "a")], {}, (), "d: each name must stand for one thing, got it twice"),
        ([("x", (), None)], {}, (), "x: host must be given where there are none to choose from, got none"),
        ([("x", (), "a")], {"y": "a"}, (), "y: results must be data or made by a step, got neither"),
    ],
)  # fmt: skip
def test_sequences_that_are_none(
    steps: list[tuple[str, tuple[str, ...], str | None]], results: dict[str, str], hosts: tuple[str, ...], said: str
) -> None:
    """Sequences with missing inputs, repeated names, missing hosts or unknown results are refused by name."""
    made = tuple(Step(makes, "dgemm", {}, reads, 1, host) for makes, reads, host in steps)
    with pytest.raises(UsageError) as caught:
        forecast_sequence(Plan({"d": Data(1, "a")}, made, results, hosts), seconds, between)
    assert str(caught.value) == said


def test_hosts_that_cannot_run_a_step_are_left_out() -> None:
    """Hosts that cannot run a step are skipped; if none can, the first host's reason is the error."""

    def refusing(routine: str, sizes: Mapping[str, int], host: str) -> float:
        if host == "one" or routine == "dgeadd":
            raise ForecastError(f"{routine}: memory must suffice on {host}")
        return seconds(routine, sizes, host)

    plan = Plan({}, (Step("x", "dgemm", {}, (), 1),), {}, ("one", "two"))
    assert forecast_sequence(plan, refusing, between).hosts == {"x": "two"}
    sums = Plan({}, (Step("x", "dgeadd", {}, (), 1),), {}, ("one", "two"))
    with pytest.raises(ForecastError, match="x: dgeadd: memory must suffice on one"):
        forecast_sequence(sums, refusing, between)


def test_hosts_without_a_route_between_them_are_left_out() -> None:
    """No link joins one and two: a product and a sum of its result stay on one host, and take 11 s.

    Where the second host must have the result, no mapping by which the first computes is possible.
    """

    def apart(source: str, target: str) -> Route:
        if {source, target} == {"one", "two"}:
            raise ForecastError(f"{source} to {target}: links must lead from one to the other")
        return between(source, target)

    steps = (Step("x", "dgemm", {}, (), 100), Step("y", "dgeadd", {}, ("x",), 100))
    found = forecast_sequence(Plan({}, steps, {}, ("one", "two")), seconds, apart)
    assert (found.seconds, found.hosts, found.tried) == (11, {"x": "one", "y": "one"}, 4)
    with pytest.raises(ForecastError, match="one to two: links must lead from one to the other"):
        forecast_sequence(Plan({}, steps, {"y": "two"}, ("one",)), seconds, apart)
    # Twenty steps, each of which reads the result of the one before it, are placed in turn.
    chain = tuple(Step(f"x{i}", "dgeadd", {}, (f"x{i - 1}",) if i else (), 100) for i in range(20))
    ends = (Step("y", "dgeadd", {}, ("x19",), 0, "one"), Step("z", "dgeadd", {}, ("x19",), 0, "two"))
    assert forecast_sequence(Plan({}, chain, {}, ("one", "two")), seconds, apart).seconds == 20
    # Two must have the last result. One, the first of two equal choices, leads nowhere: 2 + 19 x 2 + 19 x 2 are tried.
    found = forecast_sequence(Plan({}, chain, {"x19": "two"}, ("one", "two")), seconds, apart)
    assert (found.seconds, set(found.hosts.values()), found.tried, found.exhaustive) == (20, {"two"}, 78, False)
    with pytest.raises(ForecastError, match="one to two: links must lead from one to the other"):
        forecast_sequence(Plan({}, (*chain, *ends), {}, ("one", "two")), seconds, apart)


def test_all_mappings_are_compared_under_one_load() -> None:
    """The load may change while mappings are compared, so each step's time on a host is asked for once."""
    asked: list[str] = []

    def changing(_routine: str, _sizes: Mapping[str, int], host: str) -> float:
        asked.append(host)
        return 2.0 if len(asked) <= 2 else 20.0

    found = forecast_sequence(Plan({}, (Step("x", "dgemm", {}, (), 0),), {}, ("one", "two")), changing, between)
    assert (found.seconds, found.hosts, asked) == (2.0, {"x": "one"}, ["one", "two"])


def test_the_example_is_the_papers_sequence() -> None:
    """The example file is the paper's sequence of six operations on matrices of 1024 × 1024 × 8 B."""
    plan = load_sequence(EXAMPLE)
    assert [(step.makes, step.reads) for step in plan.steps] == [
        (step.makes, step.reads) for step in complex_product(*[None] * 6).steps
    ]
    assert {step.nbytes for step in plan.steps} == {8 * 1024**2} and plan.data["Ar"] == Data(8 * 1024**2, "localhost")
    plan.check()


def test_all_faults_of_a_file_at_once() -> None:
    """All faults of a sequence file are reported at once, with their places."""
    with pytest.raises(ConfigError) as caught:
        load_sequence({"steps": [{"makes": "x", "routine": "dgemm", "sizes": {"m": -4}, "size": 8}], "host": 3})
    said = str(caught.value)
    assert "must be a size with a unit" in said and "steps[0].sizes.m" in said and "host" in said
    with pytest.raises(ConfigError, match="must be a file"):
        load_sequence("absent")


def test_names_that_do_not_fit_together_have_their_places(tmp_path: Path) -> None:
    """Unknown inputs and results, repeated names and missing hosts are reported at once, each with its line."""
    file = tmp_path / "plan.yaml"
    file.write_text(
        "data: {A: {size: 8 B, host: here}}\n"
        "steps:\n"
        "  - {makes: B, routine: dgemm, sizes: {m: 1}, reads: [A, C], size: 8 B, host: here}\n"
        "  - {makes: A, routine: dgemm, sizes: {m: 1}, reads: [B], size: 8 B}\n"
        "results: {X: here}\n"
    )
    with pytest.raises(ConfigError) as caught:
        load_sequence(file)
    assert caught.value.faults == (
        f'{file}:3:58: steps[0].reads[1] must be given as data or made by an earlier step, got "C"',
        f"{file}:4:5: steps[1].host must be given where there are no hosts to choose from, got nothing",
        f'{file}:4:13: steps[1].makes must be a name that stands for nothing else, got "A" again',
        f'{file}:5:14: results.X must be data or made by a step, got "X"',
    )
