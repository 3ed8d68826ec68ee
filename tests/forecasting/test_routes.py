"""Routes between hosts: the smallest bandwidth and the sum of the latencies."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clue.forecasting.routes import Route, find_route
from clue.machine import Curve, Link

NAMES = "abcdef"
LINKS = st.dictionaries(
    st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)).filter(lambda ends: ends[0] < ends[1]),
    st.builds(Route, st.floats(1e-6, 1), st.floats(1, 1e9)),
)


def test_a_path_has_the_least_bandwidth_and_all_latencies() -> None:
    """The path from A over B to C has the smaller bandwidth and both latencies, in both directions."""
    links = {("a", "b"): Route(1.0, 100.0), ("c", "b"): Route(2.0, 50.0)}
    assert find_route(links, "a", "c") == Route(3.0, 50.0, ("a", "b", "c"))
    assert find_route(links, "c", "a") == Route(3.0, 50.0, ("c", "b", "a"))
    assert Route(3.0, 50.0).seconds(100) == 5.0


def test_a_measured_link_counts_before_any_path() -> None:
    """A measured link is used even if a path over two others has more bandwidth."""
    links = {("a", "b"): Route(0.0, 9.0), ("b", "c"): Route(0.0, 9.0), ("a", "c"): Route(5.0, 1.0)}
    assert find_route(links, "a", "c") == Route(5.0, 1.0, ("a", "c"))


def test_of_paths_as_long_that_of_more_bandwidth() -> None:
    """Of two equally long paths, the one with more bandwidth is used."""
    links = {("a", "b"): Route(0, 9), ("b", "d"): Route(0, 2), ("a", "c"): Route(1, 5), ("c", "d"): Route(1, 5)}
    assert find_route(links, "a", "d") == Route(2, 5, ("a", "c", "d"))


def test_no_way() -> None:
    """Without a path there is no route; from a host to itself the route takes no time."""
    assert find_route({("a", "b"): Route(0, 1)}, "a", "c") is None
    assert find_route({}, "a", "a") == Route(0.0, float("inf"), ("a",))


@given(LINKS, st.sampled_from(NAMES), st.sampled_from(NAMES))
def test_every_way_is_made_of_links(links: dict[tuple[str, str], Route], source: str, target: str) -> None:
    """A route connects its ends over existing links without repeating a host, and its figures follow from them."""
    found = find_route(links, source, target)
    if found is None:
        return
    assert (found.hosts[0], found.hosts[-1]) == (source, target) and len(set(found.hosts)) == len(found.hosts)
    used = [links[min(pair), max(pair)] for pair in zip(found.hosts, found.hosts[1:], strict=False)]
    assert found.latency == pytest.approx(sum(link.latency for link in used))
    assert found.bandwidth == min([float("inf"), *(link.bandwidth for link in used)])


def test_a_machines_link_is_a_line_through_the_size_that_is_sent() -> None:
    """A route over a machine's link is a line through 0 B and the size that is sent.

    10 + 40 + 5 us at 0 B, and at 1 KB 10 us more of transmission and 1 us more of sending.
    """
    link = Link(Curve.line(10e-6, 1e-9), Curve.through([(0, 40e-6), (1000, 50e-6), (10**6, 9e-3)]), 5e-6)
    found = Route.over(link, 1000)
    assert found.latency == pytest.approx(55e-6)
    assert found.seconds(1000) == pytest.approx(66e-6)
