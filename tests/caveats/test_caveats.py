"""Caveats: equal caveats of many simulations become one line, with the user's names and the largest figures."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clue.caveats import About, Caveat, Said, counted, gathered, named, note, note_of_recording

OPTIONS = ("a", "b", "c", "d", "e", "f")


def wildcards(otherwise: int, wild: int = 9, name: str = "prog-4-0a1b.clue") -> Caveat:
    """Return a caveat about a program with two figures."""
    text = "{otherwise} of {wild} receives would have matched another message"
    return Caveat(About.PROGRAM, name, text, figures={"otherwise": otherwise, "wild": wild}, size=otherwise)


def test_a_caveat_is_text_that_begins_with_its_name() -> None:
    """A caveat reads as its name, a colon and its text with the figures filled in; other braces stay."""
    assert wildcards(3) == "prog-4-0a1b.clue: 3 of 9 receives would have matched another message"
    assert note(About.MACHINE, "m", "{guessed} from 5 %") == "m: {guessed} from 5 %"


def test_a_caveat_travels_between_processes() -> None:
    """A pickled caveat keeps its text and the attributes needed to gather it."""
    again = pickle.loads(pickle.dumps(wildcards(3)))
    assert again == wildcards(3)
    assert (again.kind, again.worst, again.size) == (wildcards(3).kind, wildcards(3).worst, 3)


def test_equal_caveats_of_a_program_are_one_line_without_the_names_of_files() -> None:
    """Equal caveats of one program, recorded at several numbers of ranks, become one line with the workload's name."""
    said = [Said(wildcards(3, name=f"prog-{n}.clue"), option, "heat") for n in (2, 4) for option in OPTIONS]
    assert list(gathered(said, OPTIONS, "options")) == ["heat: 3 of 9 receives would have matched another message"]


def test_of_different_figures_the_largest_is_told() -> None:
    """Of caveats that differ in figures, the one with the largest is told, with "up to" and its other figures."""
    said = [Said(wildcards(n, 10 * n), option, "heat") for n, option in enumerate(OPTIONS)]
    assert list(gathered(said, OPTIONS, "options")) == [
        "heat: up to 5 of 50 receives would have matched another message"
    ]


def test_of_figures_of_which_the_smallest_is_the_worst_that_one_is_told() -> None:
    """Of speedups of 0.8, 0.2 and 0.5, where small is bad, 0.2 is told, with "down to", also after it travelled."""

    def slow(speedup: float) -> Caveat:
        return Caveat(About.PROGRAM, "p", "its speedup is {by}", figures={"by": speedup}, size=speedup, least=True)

    speedups = (("a", 0.8), ("b", 0.2), ("c", 0.5))
    said = [Said(pickle.loads(pickle.dumps(slow(by))), option, "heat") for option, by in speedups]
    assert list(gathered(said, "abc", "options")) == ["heat: its speedup is down to 0.2"]
    assert list(gathered(said[:1], "abc", "options")) == ["heat on a: its speedup is 0.8"]


def test_options_are_named_where_it_is_not_all() -> None:
    """A caveat of some options names a few of them, or the first of many and their number; workloads share a line."""
    few = [Said(wildcards(3), option, load) for option in "ab" for load in ("heat", "cg")]
    many = [Said(note(About.MACHINE, "pair", "guessed"), option, "heat") for option in "abcde"]
    assert list(gathered([*few, *many], OPTIONS, "options")) == [
        "heat, cg on a, b: 3 of 9 receives would have matched another message",
        "5 options (a, b, c, …): guessed",
    ]


def test_a_caveat_of_all_machines_names_none() -> None:
    """A caveat about the machines of all options says "all options"; a single option is named."""
    guessed = note(About.MACHINE, "pair", "guessed")
    assert list(gathered([Said(guessed, option, "heat") for option in "ab"], "ab", "options")) == [
        "all options: guessed"
    ]
    assert list(gathered([Said(guessed, "only", "heat")], ["only"], "options")) == ["only: guessed"]


def test_other_words_make_another_caveat() -> None:
    """Caveats with different words stay apart; those that differ only in figures are merged."""
    said = [
        Said(Caveat(About.PROGRAM, "p", "{call}: {count} calls", {"call": call}, {"count": count}, count), "a", "heat")
        for call, count in (("Win.Put", 3), ("Win.Get", 4), ("Win.Put", 5))
    ]
    assert list(gathered(said, ["a"], "options")) == ["heat: Win.Put: up to 5 calls", "heat: Win.Get: 4 calls"]


def test_one_and_several_have_words_of_their_own() -> None:
    """A count takes the words for one or for several, also after it travelled, and merged ones those for several."""

    def late(count: int) -> Caveat:
        return counted("p", "{count:message was|messages were} late", count)

    assert late(1) == pickle.loads(pickle.dumps(late(1))) == "p: 1 message was late"
    assert late(2000) == "p: 2,000 messages were late"
    assert counted("p", "{count} of all", 1) == "p: 1 of all"
    said = [Said(late(count), option, "heat") for count, option in ((1, "a"), (3, "b"))]
    assert list(gathered(said, "ab", "options")) == ["heat: up to 3 messages were late"]


def test_what_the_engine_says_is_about_nobody() -> None:
    """A caveat about the engine appears once, without workloads or options."""
    said = Caveat(About.ENGINE, "engine", "the fast engine is not used: {reason}", {"reason": "no compiler"})
    assert list(gathered([Said(said, option, "heat") for option in OPTIONS], OPTIONS, "options")) == [
        "engine: the fast engine is not used: no compiler"
    ]


def test_a_plain_line_is_taken_for_one_about_a_machine() -> None:
    """A plain string, such as a custom predictor's, is treated as a caveat about a machine and names its options."""
    said = [Said(f"machine {option}: by hand", option, "heat") for option in "ab"]
    assert list(gathered(said, OPTIONS, "options")) == ["a, b: by hand"]


@pytest.mark.parametrize(
    ("notes", "lines"),
    [
        (
            ["a rank was delayed for 7% of its time", "a rank was delayed for 17% of its time"],
            ["heat: a rank was delayed for up to 17% of its time"],
        ),
        (["2 threads called MPI", "12 threads called MPI"], ["heat: up to 12 threads called MPI"]),
        (["a rank waited 1,500 s", "a rank waited 900 s"], ["heat: a rank waited up to 1,500 s"]),
        (
            ["1,234 ops have no site", "987 ops have no site", "5,678 ops have no site"],
            ["heat: up to 5,678 ops have no site"],
        ),
        (["rank 1: threads used 3.5 s", "rank 2: threads used 1 s"], ["heat: rank 1: threads used up to 3.5 s"]),
        (
            ["rank 0: 5 calls could not be read", "rank 2: 1,900 calls could not be read"],
            ["heat: rank 2: up to 1,900 calls could not be read"],
        ),
        (
            ["ranks 0, 1 and 2: 7 threads called MPI", "ranks 0, 2 and 3: 3 threads called MPI"],
            ["heat: ranks 0, 1 and 2: up to 7 threads called MPI"],
        ),
        (
            ["recordings: up to 5 calls could not be read", "recordings: up to 900 calls could not be read"],
            ["heat: recordings: up to 900 calls could not be read"],
        ),
        (
            [
                "extrapolated to size 40 on 64 ranks, of up to 4 ranks: 2 times the size, 16 times the ranks",
                "extrapolated to size 40 on 128 ranks, of up to 4 ranks: 2 times the size, 32 times the ranks",
                "extrapolated to size 60 on 64 ranks, of up to 4 ranks: 3 times the size, 16 times the ranks",
            ],
            [
                "heat: extrapolated to size 40 on 128 ranks, of up to 4 ranks: 2 times the size, up to 32 times the "
                "ranks",
                "heat: extrapolated to size 60 on 64 ranks, of up to 4 ranks: 3 times the size, 16 times the ranks",
            ],
        ),
        (
            ["a rank needs 900 MB: peaks grow", "a rank needs 1.2 GB: peaks grow", "a rank needs 512 B: peaks grow"],
            ["heat: a rank needs up to 1.2 GB: peaks grow"],
        ),
        (
            ["sockets (rank 0 with rank 1 at 127.0.0.1:4711)", "sockets (rank 0 with rank 3 at 127.0.0.1:4712)"],
            ["heat: sockets (rank 0 with rank 1 at 127.0.0.1:4711)"],
        ),
        (["linked to h5py {0}", "linked to numba {0}"], ["heat: linked to h5py {0}", "heat: linked to numba {0}"]),
        (["5% of it", "5% of it"], ["heat: 5% of it"]),
    ],
)
def test_numbers_in_the_words_of_a_recorder_are_figures(notes: list[str], lines: list[str]) -> None:
    """Notes of several recordings that differ only in amounts become one line with the largest amount."""
    said = [Said(note_of_recording(f"heat-{i}", note), "a", "heat") for i, note in enumerate(notes)]
    assert list(gathered(said, ["a"], "options")) == lines
    assert [each.caveat for each in said] == [f"heat-{i}: {note}" for i, note in enumerate(notes)]


@given(st.text("1e.,% s{}a-", max_size=12))
def test_a_note_of_a_recording_stays_as_it_is(text: str) -> None:
    """The text of a recording's note is unchanged, whatever numbers and braces it contains."""
    assert note_of_recording("heat", text) == f"heat: {text}"


@pytest.mark.parametrize(
    ("names", "kind", "text"),
    [
        (["a"], "options", "a"),
        (["a", "b", "c", "d"], "options", "a, b, c, d"),
        (["a", "b", "c", "d", "e"], "options", "5 options (a, b, c, …)"),
        (["a", "b", "c", "d", "e"], "", "a, b, c and 2 more"),
    ],
)
def test_names_are_joined(names: list[str], kind: str, text: str) -> None:
    """Up to four names are listed; of more, the first three and the number."""
    assert named(names, kind) == text


TEXTS = st.text("abc{}%:", max_size=5)


@given(
    st.lists(st.builds(Said, st.builds(note, st.sampled_from(About), TEXTS, TEXTS), TEXTS, TEXTS), max_size=20),
    st.lists(TEXTS, max_size=4),
)
def test_nothing_is_lost_and_nothing_said_twice(said: list[Said], machines: list[str]) -> None:
    """Each different caveat has one line, and every text is in some line, whatever braces it has."""
    lines = list(gathered(said, machines, "options"))
    assert len(lines) == len({each.caveat.kind for each in said if isinstance(each.caveat, Caveat)})
    for each in said:
        assert isinstance(each.caveat, Caveat)
        assert any(line.endswith(f": {each.caveat.said}") for line in lines)
