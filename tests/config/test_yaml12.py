"""YAML by the rules of YAML 1.2, with the place of each value."""

import math

import pytest

from clue.config.yaml12 import number_or_text, parse_yaml
from tests.config.documents import faults_of


def value(text: str) -> object:
    """Return the value of ``a`` in ``a: TEXT``."""
    top = parse_yaml(f"a: {text}", "f.yaml").value
    assert isinstance(top, dict)
    return top["a"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1e9", 1e9),
        ("1.5E-3", 1.5e-3),
        (".5", 0.5),
        ("5.", 5.0),
        ("010", 10),
        ("0o10", 8),
        ("0x1F", 31),
        ("-7", -7),
        ("+7", 7),
        ("no", "no"),
        ("yes", "yes"),
        ("on", "on"),
        ("off", "off"),
        ("y", "y"),
        ("true", True),
        ("False", False),
        ("12:30:45", "12:30:45"),
        ("2000-10-13", "2000-10-13"),
        ("1_000", "1_000"),
        ("null", None),
        ("~", None),
        ("", None),
        (".inf", math.inf),
        ("-.INF", -math.inf),
        ("'5'", "5"),
        ("=", "="),
        ("<<", "<<"),
        ("!!str 5", "5"),
        ("!!float 5", 5.0),
    ],
)
def test_plain_scalars_follow_the_core_schema(text: str, expected: object) -> None:
    """Numbers, truth values and null follow YAML 1.2; everything else is text."""
    got = value(text)
    assert got == expected
    assert type(got) is type(expected)


def test_nan_is_a_number() -> None:
    """NaN is read as a number, so that the form can refuse it."""
    got = value(".nan")
    assert isinstance(got, float)
    assert math.isnan(got)


def test_keys_are_read_like_values() -> None:
    """Keys that look like numbers are numbers, as in a table by number of processors."""
    assert value("{1: a, 0x2: b, no: c}") == {1: "a", 2: "b", "no": "c"}


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("a: &a {b: 1}\nc: {<<: *a}", "f.yaml:2:5: c must not have merge keys, which YAML 1.2 does not know, got <<: "),
        ("a: {null: 1}", 'f.yaml:1:5: a must have a name for each key, got "null", which is null in YAML: put a name'),
        ("~: 1", 'f.yaml:1:1: file must have a name for each key, got "~", which is null in YAML: put'),
        ("{? : 1}", "f.yaml:1:4: file must have a name for each key, got none: put a name in quotes"),
    ],
)
def test_keys_have_names(text: str, fault: str) -> None:
    """A null is no key, nor has YAML 1.2 merge keys; in quotes both are names."""
    (found,) = faults_of(parse_yaml, text, "f.yaml")
    assert found.startswith(fault)
    assert value('{"<<": 1, "null": 2}') == {"<<": 1, "null": 2}


def test_every_value_knows_where_it_stands() -> None:
    """Values and keys have their lines and columns, counted from 1."""
    document = parse_yaml("a:\n  - b: 5\n    c: [1, 2]\n", "f.yaml")
    assert document.origins["a", 0, "b"].place() == "f.yaml:2:8"
    assert document.origins["a", 0, "c"].place(of_key=True) == "f.yaml:3:5"
    assert document.origins["a", 0, "c", 1].place() == "f.yaml:3:12"


def test_anchors_and_aliases_give_the_same_value_twice() -> None:
    """An alias has the value of its anchor."""
    document = parse_yaml("a: &x {b: 1}\nc: *x\n", "f.yaml")
    assert document.value == {"a": {"b": 1}, "c": {"b": 1}}


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "f.yaml: file must hold a YAML mapping, got nothing"),
        ("# only a comment\n", "f.yaml: file must hold a YAML mapping, got nothing"),
        ("null", "f.yaml: file must hold a YAML mapping, got nothing"),
        ("a: 1\nb: 2\na: 3\n", 'f.yaml:3:1: file must have each key once, got "a" again'),
        ("x: {010: 1, 10: 2}", 'f.yaml:1:13: x must have each key once, got "10" again'),
        (
            "a: [1, 2\nb: 3\n",
            "f.yaml:2:2: text must be YAML, got did not find expected ',' or ']' while parsing a flow sequence that "
            "begins at 1:4",
        ),
        ("a:\n\t- 1\n", "f.yaml:2:1: text must be YAML, which indents by spaces, got a tab"),
        ("a: @x\n", "f.yaml:1:4: text must be YAML, which needs quotes around what begins with @, got none"),
        ("a: ü\nb: `x`\n", "f.yaml:2:4: text must be YAML, which needs quotes around what begins with `, got none"),
        ("a: 1\n---\nb: 2\n", "f.yaml:2:1: file must hold one YAML document, got another one"),
        (
            "c: {a: *b, d: 1}\n",
            "f.yaml:1:8: text must be YAML, whose aliases stand below their anchor, got *b without one",
        ),
        (
            "a: b: c\n",
            "f.yaml:1:5: text must be YAML, where a key has a space after its colon and the indentation of the keys "
            "beside it, got another colon: put text with a colon in quotes",
        ),
        ("a: &x [*x]\n", "f.yaml:1:4: a[0] must not contain itself"),
        ("a: !include b.yaml\n", "f.yaml:1:4: a must not have a tag, got !include"),
        ("a: !!python/name:os.system x\n", "f.yaml:1:4: a must not have a tag"),
        ("a: !!int x\n", "f.yaml:1:4: a must have the type of its tag"),
        ("a: !!set {b}\n", "f.yaml:1:4: a must not have a tag"),
        ("{[a]: 1}", "f.yaml:1:2: file must have plain keys"),
        ("a: \x00", "f.yaml:1:4: text must be YAML, which has no control characters, got U+0000"),
        ("a: ü\nb: ü\x1b[0m", "f.yaml:2:5: text must be YAML, which has no control characters, got U+001B"),
    ],
)
def test_what_is_not_plain_yaml_is_refused_with_its_place(text: str, fault: str) -> None:
    """One line has place and fault; tags construct nothing, and no key silently replaces another."""
    assert faults_of(parse_yaml, text, "f.yaml")[0].startswith(fault)


@pytest.mark.parametrize("text", ["[" * 50_000, "[" * 50_000 + "]" * 50_000, "- " * 50_000, "{a: " * 50_000])
def test_a_file_that_is_nested_without_end_is_refused(text: str) -> None:
    """Deep nesting is a fault instead of a crash."""
    (fault,) = faults_of(parse_yaml, text, "f.yaml")
    assert "text must be nested at most 100 levels deep, got more" in fault


@pytest.mark.parametrize("text", ["0x" + "f" * 5000, "0o" + "7" * 6000, "9" * 5000, "-" + "9" * 401])
def test_numbers_without_end_are_refused(text: str) -> None:
    """A whole number has at most 400 digits: Python does not write numbers of more than 4,300, so none can be shown."""
    expected = f"f.yaml:1:4: a must be a number of at most 400 digits, got {len(text):,}"
    assert faults_of(parse_yaml, f"a: {text}\n", "f.yaml") == (expected,)
    assert number_or_text(text) == text
    assert value("9" * 400) == 10**400 - 1


def test_aliases_that_multiply_are_stopped() -> None:
    """Nine levels of nine aliases each would be 400 million values and are refused."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 9)]
    (fault,) = faults_of(parse_yaml, "\n".join(lines), "f.yaml")
    assert fault == "f.yaml: file must hold at most 100000 values, got more"
