"""Files of other simulators with random words are read, or refused with the place."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clue.errors import ClueError
from clue.formats.goal_reading import read_goal
from clue.formats.ti_reading import read_ti
from tests.properties import examples

SCHEDULE = """num_ranks 2
rank 0 {
l1: send 8b to 1 tag 0 cpu 0
l2: recv 8b from 1 tag 1
l3: calc 5
l3 requires l1
l3 irequires l2
}
rank 1 {
recv 8b from 0
send 8b to 0 tag 1
}
"""
ACTIONS = """0 init
0 send 1 0 5
1 recv 0 0 5
0 isend 1 1 4
0 wait 0 1 1
1 recv 0 1
0 sendRecv 7 1 8 1
1 sendRecv 7 0 8 0
0 alltoallv 9 4 5 7 3 4
0 gatherv 4 4 5 1
0 bcast 8 1
0 compute 5
"""
WORDS = st.sampled_from([
    *("", "-1", "1", "99999999999", "9223372036854775808", "16777217", "1e30", "nan", "5b", "\u0661", "\0"),
    *("{", "}", "requires", "recv", "rank", "num_ranks", "cpu", "l1:", "l1", "//", "/*", ";", "\n"),
])  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder for all examples, with a list of actions."""
    made = tmp_path_factory.mktemp("texts")
    (made / "list").write_text("all\n")
    return made


@settings(deadline=None, max_examples=examples(150))
@given(changes=st.lists(st.tuples(st.integers(0, 200), WORDS), min_size=1, max_size=3), schedule=st.booleans())
def test_any_word_is_read_or_refused(changes: list[tuple[int, str]], schedule: bool, folder: Path) -> None:
    """If some words are replaced, the only errors are those that state their place."""
    words = re.findall(r"\S+|\s", SCHEDULE if schedule else ACTIONS)
    for place, word in changes:
        words[place % len(words)] = word
    path = folder / ("x.goal" if schedule else "all")
    path.write_text("".join(words))
    try:
        read_goal(path) if schedule else read_ti(folder / "list", flops_per_second=1e9)
    except ClueError as error:
        assert str(error).startswith((str(path), "list: "))
