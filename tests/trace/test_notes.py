"""What ranks say of a program, put together."""

from __future__ import annotations

import pytest

from clue.trace.notes import common_notes, socket_notes


@pytest.mark.parametrize(
    ("notes", "said"),
    [
        ([[], []], []),
        ([["a"], ["a"]], ["a"]),
        ([["a"]], ["rank 0: a"]),
        ([["a"], []], ["rank 0: a"]),
        ([["b"], ["a", "b"], ["a"]], ["ranks 0 and 1: b", "ranks 1 and 2: a"]),
        ([["a"]] * 4 + [[]], ["ranks 0, 1, 2 and 3: a"]),
        ([["a"]] * 5 + [[]], ["ranks 0, 1, 2 and 2 more: a"]),
        ([["a", "a"], ["a"]], ["a"]),
    ],
)
def test_what_all_say_is_said_once(notes: list[list[str]], said: list[str]) -> None:
    """The rest with the ranks that say it, the first few of many."""
    assert common_notes(notes) == said


def test_ranks_that_talk_by_sockets_are_named() -> None:
    """Who reached what another one opened."""
    alone: tuple[list[str], list[str]] = ([], [])
    server: tuple[list[str], list[str]] = (["port 5"], [])
    client: tuple[list[str], list[str]] = ([], ["port 5", "port 80"])
    (note,) = socket_notes([server, alone, client])
    assert note == (
        "the ranks communicate by sockets besides MPI, and what they exchange there is not modelled "
        "(rank 2 with rank 0 at port 5)"
    )
    (many,) = socket_notes([server, *[client] * 5])
    assert many.endswith(
        "(rank 1 with rank 0 at port 5, rank 2 with rank 0 at port 5, rank 3 with rank 0 at port 5 and 2 more)"
    )


@pytest.mark.parametrize(
    "sockets",
    [
        [],
        [([], ["port 80"]), ([], ["port 80"])],  # another computer's
        [(["port 5"], ["port 5"]), (["port 5"], ["port 5"])],  # each its own: a server of one rank alone
        [(["/run/a"], []), (["/run/b"], ["/run/b"])],
    ],
)
def test_other_sockets_are_nobodys_business(sockets: list[tuple[list[str], list[str]]]) -> None:
    """A page that a rank fetches, or a server that it has for itself, is no communication of ranks."""
    assert socket_notes(sockets) == []
