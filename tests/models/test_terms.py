"""Terms: their values and their notation."""

import numpy as np
import pytest

from clue.errors import ModelError
from clue.models import Term, fit, terms_for


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1.0),
        ("n", 64.0),
        ("n^2/P", 64.0**2 / 4),
        ("n/P^(1/2)", 32.0),
        ("1/P", 1 / 4),
        ("m log m", 16 * 4.0),
        ("m^(3/2)", 64.0),
        ("n^2 log n/P", 64.0**2 * 6 / 4),
        ("n log^2 n", None),
    ],
)
def test_a_text_stands_for_its_product(text: str, value: float | None) -> None:
    """Values at n = 64, P = 4, m = 16; a term's text parses to the same term."""
    features = {"n": np.array([64.0]), "P": np.array([4.0]), "m": np.array([16.0])}
    if value is None:
        with pytest.raises(ModelError, match=r"term must be a product such as .*, got 'n log\^2 n'"):
            Term.parse(text)
        return
    term = Term.parse(text)
    assert term.of(features, 1).tolist() == [value]
    assert str(term) == text
    assert Term.parse(str(term)) == term


@pytest.mark.parametrize("text", ["", "n^", "2 n", "n / log P", "n^2/", "n + 1", "n^1.2.3"])
def test_other_texts_are_refused(text: str) -> None:
    """A term is a product; other texts are refused."""
    with pytest.raises(ModelError, match="term must be a product"):
        Term.parse(text)


def test_a_logarithm_is_never_negative() -> None:
    """The logarithm is 0 below 1, so that a term of a fitted time is never negative."""
    assert Term.parse("m log m").of({"m": np.array([0.0, 0.5, 1.0, 2.0])}, 4).tolist() == [0, 0, 0, 2]


def test_the_menu_has_what_the_features_allow() -> None:
    """The features decide the terms: size and ranks have their own, any other feature is a local size."""
    assert [str(term) for term in terms_for(["n"])] == ["1", "n", "n^2", "n^3"]
    assert [str(term) for term in terms_for(["rows"])] == [
        "1", "rows", "rows log rows", "rows^(3/2)", "rows^2", "rows^3",
    ]  # fmt: skip
    assert {"n/P", "n^2/P", "n^3/P", "P"} <= {str(term) for term in terms_for(["n", "P"])}


@pytest.mark.parametrize("name", ["log", "a b", "2x", "x^2", ""])
def test_features_have_names_that_terms_can_contain(name: str) -> None:
    """A name that is no word, or is the word for logarithms, is refused as a name and not as a term."""
    with pytest.raises(ModelError, match=r"features: names must be words other than log, got"):
        fit({name: [1.0, 2.0]}, [1.0, 2.0])
