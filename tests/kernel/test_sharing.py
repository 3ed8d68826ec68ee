"""Max-min fair sharing: closed forms, a brute-force solver, a certificate, and the same bits in C++."""

from __future__ import annotations

import math
import random
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import clue.kernel
from clue.kernel.reference import sharing
from clue.kernel.reference.sharing import FairSharing, _Link
from tests.kernel.random_cases import CASES
from tests.properties import examples

Way = tuple[int, ...]
Step = tuple[str, int, Way, float]  # action, flow, its path, its limit
SETTLE: Step = ("settle", 0, (), 0.0)
FAST = Path(clue.kernel.__file__).parent / "fast"


class Sharing:
    """A solver under test with its current flows and the rates that it reported last."""

    def __init__(self, capacities: list[float]) -> None:
        self.capacities = capacities
        self.solver = FairSharing(capacities)
        self.flows: dict[int, tuple[Way, float]] = {}
        self.rates: dict[int, float] = {}

    def do(self, step: Step) -> list[tuple[int, float]]:
        """Carry out a step and return the rates that it changed."""
        what, flow, way, limit = step
        if what == "add":
            self.solver.add(flow, way, limit)
            self.flows[flow] = way, limit
        elif what == "remove":
            self.solver.remove(flow)
            del self.flows[flow]
            self.rates.pop(flow, None)
        else:
            changed = self.solver.settle()
            self.rates.update(changed)
            return changed
        return []

    def add(self, flow: int, *way: int, limit: float = math.inf) -> None:
        """Let a flow begin."""
        self.do(("add", flow, way, limit))

    def remove(self, flow: int) -> None:
        """Let a flow end."""
        self.do(("remove", flow, (), 0.0))

    def settle(self) -> dict[int, float]:
        """Settle and return the changed rates by flow."""
        return dict(self.do(SETTLE))


def progressive_filling(capacities: list[float], flows: dict[int, tuple[Way, float]]) -> dict[int, float]:
    """Solve by brute force: raise all rates together; a flow stops at a full link or its own limit."""
    rates: dict[int, float] = {}
    rising = dict(flows)
    while rising:
        left = list(capacities)
        count = [0] * len(capacities)
        for flow, (way, _) in flows.items():
            for link in way:
                left[link] -= rates.get(flow, 0.0)
                count[link] += flow in rising
        shares = [rest / many if many else math.inf for rest, many in zip(left, count, strict=True)]
        bounds = {flow: min(limit, *(shares[link] for link in way)) for flow, (way, limit) in rising.items()}
        water = min(bounds.values())
        for flow, bound in bounds.items():
            if bound <= water * (1 + 1e-12):
                rates[flow] = bound
                del rising[flow]
    return rates


def check_rates(sharing: Sharing) -> None:
    """Check that all rates are the brute-force ones."""
    assert sharing.rates == pytest.approx(progressive_filling(sharing.capacities, sharing.flows), rel=1e-9)


def check_certificate(sharing: Sharing) -> None:
    """Check that no link is overloaded and that each flow is at its limit or the fastest on a full link."""
    used = [0.0] * len(sharing.capacities)
    fastest = [0.0] * len(sharing.capacities)
    for flow, (way, _) in sharing.flows.items():
        for link in way:
            used[link] += sharing.rates[flow]
            fastest[link] = max(fastest[link], sharing.rates[flow])
    full = [load >= capacity * (1 - 1e-10) for load, capacity in zip(used, sharing.capacities, strict=True)]
    assert all(load <= capacity * (1 + 1e-10) for load, capacity in zip(used, sharing.capacities, strict=True))
    for flow, (way, limit) in sharing.flows.items():
        rate = sharing.rates[flow]
        assert rate == limit or any(full[link] and fastest[link] <= rate * (1 + 1e-10) for link in way)


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[float], list[Step]]:
    """Draw links and a history of flows on them, with many ties and sometimes several changes before a settling."""
    links = draw(st.integers(1, 7))
    alike = st.sampled_from([1.0, 1.0, 2.0, 3.0])
    capacities = draw(st.lists(alike | st.floats(0.01, 100.0), min_size=links, max_size=links))
    limits = st.sampled_from([math.inf, math.inf, 0.25, 1.0]) | st.floats(0.001, 10.0)
    ways = st.lists(st.integers(0, links - 1), min_size=1, max_size=5, unique=True).map(tuple)
    steps: list[Step] = []
    alive: list[int] = []
    for number in draw(st.lists(st.integers(0, 11), max_size=60)):
        if number in alive:
            alive.remove(number)
            steps.append(("remove", number, (), 0.0))
        else:
            alive.append(number)
            steps.append(("add", number, draw(ways), draw(limits)))
        if draw(st.booleans()):
            steps.append(SETTLE)
    return capacities, [*steps, SETTLE]


def network(kind: str, nodes: int) -> tuple[list[float], dict[tuple[int, int], Way]]:
    """Return links and paths by pair of a crossbar or a tree: switches of four nodes with half-capacity uplinks."""
    capacities = [1e9] * (2 * nodes)
    ways: dict[tuple[int, int], Way] = {}
    groups = nodes // 4
    if kind == "tree":
        capacities += [2e9] * (2 * groups)
    for source in range(nodes):
        for dest in set(range(nodes)) - {source}:
            up, down = 2 * nodes + source // 4, 2 * nodes + groups + dest // 4
            core = (up, down) if kind == "tree" and source // 4 != dest // 4 else ()
            ways[source, dest] = (source, *core, nodes + dest)
    return capacities, ways


def traffic(kind: str, nodes: int, alive: int, events: int, seed: int) -> tuple[list[float], Iterator[Step]]:
    """Return links and a long history in which flows between random pairs end and others begin."""
    capacities, ways = network(kind, nodes)
    rng = random.Random(seed)

    def steps() -> Iterator[Step]:
        ended: list[int] = list(range(alive))
        for event in range(alive + events):
            flow = ended[event] if event < alive else rng.randrange(alive)
            if event >= alive:
                yield "remove", flow, (), 0.0
                if rng.random() < 0.5:
                    yield SETTLE
            yield "add", flow, ways[rng.choice(list(ways))], rng.choice([math.inf, 1e9, rng.uniform(1e7, 1e9)])
            yield SETTLE

    return capacities, steps()


def test_only_links_in_use_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a million links, two flows that share one of three make three."""
    made = []

    def link(index: int, capacity: float) -> _Link:
        made.append(index)
        return _Link(index, capacity)

    monkeypatch.setattr(sharing, "_Link", link)
    solver = Sharing([100.0] * 1_000_000)
    solver.add(0, 7, 999_999)
    solver.add(1, 999_999, 8)
    assert solver.settle() == {0: 50.0, 1: 50.0}
    assert made == [7, 999_999, 8]


def test_flows_on_one_link_share_it() -> None:
    """On a link of 12, 1, 2 and 4 flows get 12, 6 and 3 each; when one of four ends, the others get 4."""
    sharing = Sharing([12.0])
    sharing.add(0, 0)
    assert sharing.settle() == {0: 12.0}
    sharing.add(1, 0)
    assert sharing.settle() == {0: 6.0, 1: 6.0}
    sharing.add(2, 0)
    sharing.add(3, 0)
    assert sharing.settle() == {0: 3.0, 1: 3.0, 2: 3.0, 3: 3.0}
    sharing.remove(1)
    assert sharing.settle() == {0: 4.0, 2: 4.0, 3: 4.0}


def test_what_one_link_denies_goes_to_others_on_the_next() -> None:
    """Three flows share link 0 of capacity 3; one also uses link 1 of capacity 10, where another flow gets 10 - 1."""
    sharing = Sharing([3.0, 10.0])
    for flow, way in enumerate([(0,), (0,), (0, 1), (1,)]):
        sharing.add(flow, *way)
    assert sharing.settle() == {0: 1.0, 1: 1.0, 2: 1.0, 3: 9.0}


def test_change_runs_along_a_chain_of_links() -> None:
    """In a chain, neighbouring links share a flow; when the first flow ends, rates change along the whole chain."""
    sharing = Sharing([4.0, 10.0, 20.0])
    for flow, way in enumerate([(0,), (0, 1), (1, 2), (2,)]):
        sharing.add(flow, *way)
    assert sharing.settle() == {0: 2.0, 1: 2.0, 2: 8.0, 3: 12.0}
    sharing.remove(0)
    assert sharing.settle() == {1: 4.0, 2: 6.0, 3: 14.0}


def test_limit_of_a_flow_leaves_the_rest_to_others() -> None:
    """A flow limited to 1 on a link of 10 leaves 9; one limited to 100 takes its share."""
    sharing = Sharing([10.0])
    sharing.add(0, 0, limit=100.0)
    sharing.add(1, 0, limit=1.0)
    assert sharing.settle() == {0: 9.0, 1: 1.0}


def test_limited_newcomer_lowers_who_was_not_held_there() -> None:
    """A flow at 2 through links 0 and 1 gives up 0.25 to a new limited flow on either, whichever link held it."""
    for link in (0, 1):
        sharing = Sharing([2.0, 2.0])
        sharing.add(0, 0, 1)
        assert sharing.settle() == {0: 2.0}
        sharing.add(1, link, limit=0.25)
        assert sharing.settle() == {0: 1.75, 1: 0.25}


def test_only_changes_are_told() -> None:
    """A settling reports only changed rates: no flows on other links, and no flows at their own limits."""
    sharing = Sharing([10.0, 10.0])
    sharing.add(0, 0, limit=3.0)
    sharing.add(1, 1)
    assert sharing.settle() == {0: 3.0, 1: 10.0}
    sharing.add(2, 0, limit=3.0)
    assert sharing.settle() == {2: 3.0}
    sharing.remove(2)
    assert sharing.settle() == {}


def test_flow_that_ends_before_it_is_settled_was_never_there() -> None:
    """A flow that ends before a settling is never reported, and its number can be used again at once."""
    sharing = Sharing([10.0])
    sharing.add(0, 0)
    sharing.add(1, 0)
    sharing.remove(1)
    sharing.add(1, 0, limit=2.0)
    sharing.remove(0)
    assert sharing.settle() == {1: 2.0}


def test_full_exchange_is_fair_and_ties_do_not_spread() -> None:
    """In an all-to-all of 8 nodes, each flow gets 1/7 of a link; the end of one speeds up no other.

    Every other flow still has another full link.
    """
    capacities, ways = network("crossbar", 8)
    sharing = Sharing(capacities)
    for flow, way in enumerate(ways.values()):
        sharing.add(flow, *way)
    assert sharing.settle() == pytest.approx(dict.fromkeys(range(56), 1e9 / 7))
    sharing.remove(9)
    assert sharing.settle() == {}


def add(flow: int, way: Way, limit: float = math.inf) -> Step:
    """Return the step that begins a flow."""
    return "add", flow, way, limit


def remove(flow: int) -> Step:
    """Return the step that ends a flow."""
    return "remove", flow, (), 0.0


# Rounding of link 1 first holds flow 8 a hair below its limit; it rises to the limit when others give way.
HAIR_BELOW_ITS_LIMIT: tuple[list[float], list[Step]] = (
    [2.0, 2.0, 1.0, 1.0],
    [
        *(add(0, (0,)), add(1, (0,)), add(2, (0,)), add(4, (0, 1, 2, 3)), add(7, (0, 1, 2, 3)), remove(0)),
        *(add(0, (0,)), add(5, (0,)), add(6, (0, 1, 2, 3)), remove(0), SETTLE),
        *(add(0, (1, 3)), SETTLE, add(3, (3,)), add(8, (1,), 1.0), SETTLE),
    ],
)


@pytest.mark.long
@settings(max_examples=max(400, CASES), deadline=None)
@given(histories())
@example(HAIR_BELOW_ITS_LIMIT)
def test_rates_are_those_of_progressive_filling(history: tuple[list[float], list[Step]]) -> None:
    """After every settling of any history, all rates are the brute-force ones and the certificate holds."""
    capacities, steps = history
    sharing = Sharing(capacities)
    for step in steps:
        sharing.do(step)
        if step == SETTLE:
            check_certificate(sharing)
            check_rates(sharing)


@pytest.mark.long
@pytest.mark.parametrize("kind", ["crossbar", "tree"])
def test_long_histories_do_not_drift(kind: str) -> None:
    """After thousands of incremental changes, the certificate holds, and rates are the brute-force ones."""
    capacities, steps = traffic(kind, 16, 48, 4000, seed=1)
    sharing = Sharing(capacities)
    for count, step in enumerate(steps):
        sharing.do(step)
        if step == SETTLE and count % 20 == 0:
            check_certificate(sharing)
        if step == SETTLE and count % 200 == 0:
            check_rates(sharing)
    check_rates(sharing)


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compile the driver that runs histories with the C++ solver, and return its path."""
    compiler = next(filter(None, map(shutil.which, ("c++", "g++", "clang++"))), None)
    if compiler is None:
        pytest.skip("no C++ compiler here")
    program = tmp_path_factory.mktemp("sharing") / "driver"
    source = Path(__file__).with_name("sharing_driver.cpp")
    flags = ["-std=c++17", "-O3", "-ffp-contract=off", "-Wall", "-Wextra", "-Werror", f"-I{FAST}"]
    subprocess.run([compiler, *flags, str(source), "-o", str(program)], check=True)
    return program


def command(step: Step) -> str:
    """Return a step as a line of the driver's input."""
    what, flow, way, limit = step
    if what == "add":
        return " ".join(map(str, ["add", flow, limit.hex(), len(way), *way]))
    return what if what == "settle" else f"{what} {flow}"


def changes_in_cpp(driver: Path, capacities: list[float], steps: list[Step]) -> list[list[tuple[int, float]]]:
    """Return the rates that each settling of the C++ solver changes."""
    links = " ".join(["links", str(len(capacities)), *(capacity.hex() for capacity in capacities)])
    commands = "\n".join([links, *map(command, steps)])
    lines = subprocess.run([driver], input=commands, capture_output=True, text=True, check=True).stdout.splitlines()
    words = [line.split() for line in lines]
    return [[(int(f), float.fromhex(r)) for f, r in zip(line[::2], line[1::2], strict=True)] for line in words]


def check_same_bits(driver: Path, capacities: list[float], steps: list[Step]) -> None:
    """Check that settlings change the same flows in both languages, in the same order, to the same bits."""
    sharing = Sharing(capacities)
    told = [(step, sharing.do(step)) for step in steps]
    assert changes_in_cpp(driver, capacities, steps) == [changed for step, changed in told if step == SETTLE]


@settings(max_examples=examples(60), deadline=None)
@given(history=histories())
def test_cpp_gives_the_same_bits(driver: Path, history: tuple[list[float], list[Step]]) -> None:
    """The solvers in C++ and Python give the same bits for any short history on any links."""
    check_same_bits(driver, *history)


@pytest.mark.parametrize(("kind", "alive"), [("crossbar", 20), ("crossbar", 200), ("tree", 60)])
def test_cpp_gives_the_same_bits_for_long(driver: Path, kind: str, alive: int) -> None:
    """The solvers in C++ and Python give the same bits after thousands of changes, in light and heavy traffic."""
    capacities, steps = traffic(kind, 32, alive, 2000, seed=alive)
    check_same_bits(driver, capacities, list(steps))
