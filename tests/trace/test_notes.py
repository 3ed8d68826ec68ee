"""Notes of ranks about a program are combined."""

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
    """A note of all ranks appears once; other notes name their ranks, the first three of many."""
    assert common_notes(notes) == said


def test_ranks_that_talk_by_sockets_are_named() -> None:
    """The note names ranks that connect to ports which other ranks opened, the first three of many."""
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
        [([], ["port 80"]), ([], ["port 80"])],  # a server on another computer
        [(["port 5"], ["port 5"]), (["port 5"], ["port 5"])],  # each rank connects only to its own server
        [(["/run/a"], []), (["/run/b"], ["/run/b"])],
    ],
)
def test_other_sockets_are_nobodys_business(sockets: list[tuple[list[str], list[str]]]) -> None:
    """Connections to other computers, and of a rank to its own server, are not noted."""
    assert socket_notes(sockets) == []
