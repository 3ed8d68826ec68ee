"""Reading of JSON by the form of a dataclass, with every fault reported with its place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

import pytest

from clue.errors import TraceError
from clue.trace.form import Within, parse, read

Small = Annotated[int, Within(0, 9)]


@dataclass(frozen=True)
class Leaf:
    """A nested form."""

    name: Annotated[str, Within(0, 5)]
    share: Annotated[float, Within(0, 1)] = 0.5


@dataclass(frozen=True)
class Form:
    """A form with a field of every kind."""

    numbers: tuple[Small, ...]
    leaves: tuple[Leaf, ...]
    by_name: Mapping[str, Small]
    by_number: Mapping[int, float]
    pair: tuple[Small, str | None]
    either: tuple[int | tuple[str, int], ...]
    maybe: tuple[Small, ...] | None = None
    last: Mapping[str, str] = field(default_factory=dict)


GOOD: dict[str, Any] = {
    "numbers": [1, 2],
    "leaves": [{"name": "a", "share": 1}, {"name": "b", "passed over": []}],
    "by_name": {"x": 1},
    "by_number": {"7": 1.5},
    "pair": [3, None],
    "either": [1, ["w", 2]],
    "maybe": None,
}


def test_a_good_document_becomes_values() -> None:
    """Lists become tuples, integers become floats where the form says float, and missing fields get their defaults."""
    got = read(Form, GOOD, "f.json")
    assert got == Form((1, 2), (Leaf("a", 1.0), Leaf("b", 0.5)), {"x": 1}, {7: 1.5}, (3, None), (1, ("w", 2)))
    assert isinstance(got.leaves[0].share, float)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"numbers": [1, 10]}, "numbers[1] must be a whole number from 0 to 9, got 10"),
        ({"numbers": [1.0]}, "numbers[0] must be a whole number from 0 to 9, got 1.0"),
        ({"numbers": [True]}, "numbers[0] must be a whole number from 0 to 9, got true"),
        ({"numbers": {"a": 1}}, "numbers must be a list, got a mapping"),
        ({"leaves": [{"name": "a", "share": 1.5}]}, "leaves[0].share must be a number from 0 to 1, got 1.5"),
        ({"leaves": [{"share": 1}]}, "leaves[0].name must be given, got nothing"),
        ({"leaves": [{"name": "abcdef"}]}, "leaves[0].name must have at most 5 characters, got 6"),
        ({"leaves": [{"name": "\ud800"}]}, r'leaves[0].name must be Unicode text, got "\ud800"'),
        ({"leaves": [3]}, "leaves[0] must be a mapping, got 3"),
        ({"by_name": {"x": "y"}}, 'by_name["x"] must be a whole number from 0 to 9, got "y"'),
        ({"by_name": []}, "by_name must be a mapping, got an empty list"),
        ({"by_number": {"-1": 1.0}}, 'by_number must have whole numbers as keys, got "-1"'),
        ({"by_number": {"٣": 1.0}}, r'by_number must have whole numbers as keys, got "\u0663"'),
        ({"pair": [3]}, "pair must be a list of 2 entries, got a list"),
        ({"either": ["w"]}, 'either[0] must be a whole number from -inf to inf, got "w"'),
        ({"either": [["w", "x"]]}, 'either[0][1] must be a whole number from -inf to inf, got "x"'),
        ({"maybe": 3}, "maybe must be a list, got 3"),
    ],
)
def test_faults_have_place_rule_and_value(changes: dict[str, Any], told: str) -> None:
    """A fault states place, rule and value at any depth."""
    with pytest.raises(TraceError) as caught:
        read(Form, GOOD | changes, "f.json")
    assert caught.value.faults == (f"f.json: {told}",)


def test_bytes_of_names_that_are_no_unicode_are_text() -> None:
    """An argument that is not UTF-8 is read as Python represents it (PEP 383), with surrogates."""
    assert read(Leaf, {"name": "a\udcff"}, "f.json").name == "a\udcff"


def test_all_faults_are_told_up_to_a_few() -> None:
    """At most eight faults are listed; the rest are counted."""
    with pytest.raises(TraceError) as caught:
        read(Form, GOOD | {"numbers": ["x"] * 20, "maybe": "y"}, "f.json")
    assert len(caught.value.faults) == 9
    assert caught.value.faults[-1] == "f.json: and 13 more faults"


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "file must be JSON, got Expecting value"),
        (b"\xef\xbb\xbf{}", "file must be JSON, got Unexpected UTF-8 BOM"),
        (b"\xff\xfe{\x00}\x00", "file must be UTF-8 text, got another byte at 0"),
        (b'{"a": "\xed\xa0\x80"}', "file must be UTF-8 text, got another byte at 7"),
        (b"[" * 100_000, "file must not be nested deeper than its format, got far more levels"),
        (b'{"a": 1, "b": 2, "a": 3}', 'file must be JSON, got the key "a" more than once'),
        (b"[NaN]", "file must be JSON, got NaN, which is not a JSON number"),
        (b"[-Infinity]", "file must be JSON, got -Infinity, which is not a JSON number"),
        (b"[1e999]", "file must be JSON, got 1e999, which is too large"),
        (b"[" + b"9" * 5000 + b"]", "file must be JSON, got a number of 5000 digits"),
    ],
)
def test_json_is_that_of_the_standard(content: bytes, told: str) -> None:
    """Only standard JSON is accepted; Python's own reader accepts more."""
    with pytest.raises(TraceError) as caught:
        parse(content, "f.json")
    assert str(caught.value).startswith(f"f.json: {told}")
