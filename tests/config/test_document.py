"""Documents laid over one another: what is merged, what is replaced, and whose line a fault names."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clue.config.document import Document, format_path, format_value, from_python
from clue.config.yaml12 import parse_yaml


def test_mappings_merge_and_the_rest_is_replaced() -> None:
    """Keys that are not named stay, and a list is replaced as a whole."""
    base = from_python({"a": {"x": 1, "y": 2}, "b": [1, 2], "c": 3})
    assert base.overlaid(from_python({"a": {"y": 5, "z": 6}, "b": [9]})).value == {
        "a": {"x": 1, "y": 5, "z": 6},
        "b": [9],
        "c": 3,
    }


def test_null_takes_a_key_out() -> None:
    """A key given as null is removed."""
    assert from_python({"a": 1, "b": 2}).overlaid(from_python({"a": None, "c": None})).value == {"b": 2}


def test_points_replace_a_line_and_a_line_replaces_points() -> None:
    """A line and points replace each other, but a line's bandwidth alone can be changed."""
    line, points = {"d": {"latency": "1 us", "bandwidth": "1 GB/s"}}, {"d": {"points": [["0 B", "1 us"]]}}
    assert from_python(line).overlaid(from_python(points)).value == points
    assert from_python(points).overlaid(from_python(line)).value == line
    slower = from_python(line).overlaid(from_python({"d": {"bandwidth": "1 MB/s"}}))
    assert slower.value == {"d": {"latency": "1 us", "bandwidth": "1 MB/s"}}


@pytest.mark.parametrize("half", [{"latency": "2 us"}, {"bandwidth": "1 MB/s"}])
def test_half_a_line_does_not_replace_points(half: dict[str, object]) -> None:
    """A latency alone would make all sizes equally fast: it stays beside the points, which no form accepts."""
    points = {"points": [["0 B", "1 us"], ["1 KB", "2 us"]]}
    assert from_python(points).overlaid(from_python(half)).value == points | half
    assert from_python(points).overlaid(from_python(half | {"points": None})).value == half


def test_a_table_of_regions_leaves_other_regions_their_figure() -> None:
    """One factor for all regions stays that of the other regions; one factor replaces a table."""
    one = {"performance_factor": 0.5, "memory_contention_factor": {2: 0.9, 4: 0.8}}
    table = {"performance_factor": {"solve": 0.4}, "memory_contention_factor": {2: {"solve": 0.7}}}
    base, over = (from_python({"node_types": {"pc": each}}) for each in (one, table))
    both = base.overlaid(over)
    assert both.value == {
        "node_types": {
            "pc": {
                "performance_factor": {"default": 0.5, "solve": 0.4},
                "memory_contention_factor": {2: {"default": 0.9, "solve": 0.7}, 4: 0.8},
            }
        }
    }
    assert set(both.origins) == set(from_python(both.value).origins)
    assert over.overlaid(base).value == base.value


def test_parts_on_offer_are_overlaid_as_those_of_a_machine() -> None:
    """A part replaces the link and the cores of what is on offer, and one factor stays that of other regions."""
    fast = {"processors": 8, "performance_factor": 0.5, "memory_contention_factor": {2: 0.9}}
    net = {"between_nodes": {"send_delay": "1 us"}, "price": "5 EUR"}
    base = from_python({"generate": {"processors": {"fast": fast}, "networks": {"net": net}}})
    faster = {
        "processor": "one.yaml",
        "performance_factor": {"solve": 0.4},
        "memory_contention_factor": {2: {"solve": 0.7}},
    }
    over = from_python({"generate": {"processors": {"fast": faster}, "networks": {"net": {"part": "net.yaml"}}}})
    both = base.overlaid(over)
    assert both.value == {
        "generate": {
            "processors": {
                "fast": {
                    "processor": "one.yaml",
                    "performance_factor": {"default": 0.5, "solve": 0.4},
                    "memory_contention_factor": {2: {"default": 0.9, "solve": 0.7}},
                }
            },
            "networks": {"net": {"part": "net.yaml", "price": "5 EUR"}},
        }
    }
    assert set(both.origins) == set(from_python(both.value).origins)


def test_a_criterion_called_points_is_no_curve() -> None:
    """Weights of criteria, one of which is called points, merge as all mappings do."""
    both = {"weighted": {"points": 1, "makespan": 2}}
    assert from_python(both).overlaid(from_python({"weighted": {"makespan": 3}})).value == {
        "weighted": {"points": 1, "makespan": 3}
    }
    assert from_python({"weighted": {"makespan": 2}}).overlaid(from_python({"weighted": {"points": 1}})).value == both


def test_null_removes_what_is_called_points() -> None:
    """A criterion called points is removed, and the others merge; a line without points stays as it is."""
    base = from_python({"weighted": {"points": 1, "makespan": 2}, "d": {"latency": "1 us"}})
    over = from_python({"weighted": {"points": None, "ssp": 3}, "d": {"points": None}})
    assert base.overlaid(over).value == {"weighted": {"makespan": 2, "ssp": 3}, "d": {"latency": "1 us"}}


def test_a_workload_called_contention_is_no_model_of_contention() -> None:
    """Its keys merge as those of any workload."""
    base = from_python({"workloads": {"contention": {"ranks": 2, "weight": 3}}})
    assert base.overlaid(from_python({"workloads": {"contention": {"ranks": 4}}})).value == {
        "workloads": {"contention": {"ranks": 4, "weight": 3}}
    }


@pytest.mark.parametrize("parts", ["networks", "topologies"])
def test_a_model_of_contention_on_offer_replaces_another(parts: str) -> None:
    """Ports replace a table of factors, and figures of the same model merge."""
    busy, factors = {"ports": {"busy": "1 us"}}, {"factor": {1: 1, 2: 2}}

    def offered(contention: object) -> Document:
        return from_python({"generate": {parts: {"a": {"contention": contention}}}})

    assert offered(factors).overlaid(offered(busy)).value == offered(busy).value
    assert offered(factors).overlaid(offered({"factor": {2: 3}})).value == offered({"factor": {1: 1, 2: 3}}).value


def test_each_part_keeps_the_line_it_was_written_on() -> None:
    """After an overlay, each value still has the line and file that it came from."""
    base = parse_yaml("a:\n  x: 1\n  y: 2\n", "base.yaml")
    both = base.overlaid(parse_yaml("a: {y: 5}\n", "over.yaml"))
    assert both.origins["a", "x"].place() == "base.yaml:2:6"
    assert both.origins["a", "y"].place() == "over.yaml:1:8"


def test_a_part_knows_its_path_in_the_whole() -> None:
    """A machine inside a scenario has the full path from the scenario's root."""
    part = parse_yaml("options: {A: {machine: {nodes: 3}}}", "s.yaml").at("options", "A", "machine")
    assert format_path(part.origins["nodes",].path) == "options.A.machine.nodes"
    assert part.nearest(("nodes", "x"))[1] == ("x",)


def test_a_value_is_put_in_place_of_another() -> None:
    """A value inside a list or mapping can be replaced; the original document stays."""
    base = from_python({"nodes": [{"count": 1}, {"count": 2}]})
    assert base.replaced(("nodes", 1, "count"), from_python(7)).value == {"nodes": [{"count": 1}, {"count": 7}]}
    assert base.value == {"nodes": [{"count": 1}, {"count": 2}]}


def test_python_values_become_those_of_yaml() -> None:
    """Tuples become lists, and paths become text."""
    assert from_python({"a": (1, 2.5), "b": Path("x/y")}).value == {"a": [1, 2.5], "b": "x/y"}


def test_values_are_shown_on_one_short_line() -> None:
    """Any value is shown on one line of at most 80 characters."""
    shown = [format_value(v) for v in (None, True, 5, "a\nb", [], [1], {}, {"a": 1}, float("nan"), "x" * 200)]
    assert shown[:-1] == [
        "nothing",
        "true",
        "5",
        '"a b"',
        "an empty list",
        "a list",
        "an empty mapping",
        "a mapping",
        ".nan",
    ]
    assert len(shown[-1]) == 80


TREES = st.recursive(
    st.integers() | st.text(max_size=3),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.sampled_from("abcd"), below, max_size=3),
    max_leaves=8,
)


@given(TREES, TREES)
def test_the_origins_of_an_overlaid_document_are_those_of_its_values(base: object, over: object) -> None:
    """Each value of an overlaid document has an origin, and no other origin exists."""
    both = from_python(base).overlaid(from_python(over))
    assert set(both.origins) == set(from_python(both.value).origins)


@given(TREES)
def test_laying_a_document_over_itself_changes_nothing(tree: object) -> None:
    """A document laid over itself is unchanged."""
    document: Document = from_python(tree)
    assert document.overlaid(document).value == document.value
