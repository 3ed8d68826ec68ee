"""Small recordings yield the exact program at large targets, or a refusal by site, never another program."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from math import isqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clue.structure import Example, Generator, Learner, Tables, decided
from clue.structure.atoms import Atom, Integers, parts, variable
from clue.structure.forms import ZERO, Comparison, Predicate, Rule, Sum, UndeterminedError
from clue.structure.groups import members_of
from clue.structure.rules import Search
from clue.trace import Flag, Op
from tests.properties import examples
from tests.structure.judging import EXACT, WRONG, judge, judge_there, learn
from tests.structure.programs import CASES, Case, between, dims2, first_larger, last_smaller
from tests.structure.stub import Comm, run

pytestmark = pytest.mark.long

#: Programs whose targets must all be exact.
KNOWN = (
    "ring", "ring_of_shares", "halo_line", "halo_null", "parity", "pipeline", "butterfly", "dissemination",
    "panels_by_column", "transpose", "master_turns", "gather_by_loop", "scatter_by_loop", "spread", "shared_function",
    "rows_and_columns", "remainder_last", "workers", "halves", "multigrid", "root_moves", "triangle",
    "faces_with_halo", "square_2d", "halo_2d_waitall", "cannon", "halving", "odd_even", "everybody_to_everybody",
    "sizes", "columns_in_blocks", "reflectors", "objects_reduced", "pipeline_started",
    "spread_in_steps",
)  # fmt: skip
#: Programs that recordings do not determine everywhere, or that follow no rule.
UNKNOWN = ("even_strips", "panels", "ranks_beyond", "odd_ends", "threshold", "triples")


@pytest.mark.parametrize("name", KNOWN)
def test_programs_are_exact_at_targets_that_nobody_recorded(name: str) -> None:
    """Rows, partners, tags, sizes, flags, requests, lists and communicators all agree."""
    assert [(each.outcome, each.why) for each in judge(CASES[name])] == [(EXACT, "")] * len(CASES[name].targets)


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_recordings_do_not_determine_is_refused_by_site(name: str) -> None:
    """Reasons: rival rules that differ at the target, thresholds, and groups without a rule."""
    verdicts = list(judge(CASES[name]))
    assert {each.outcome for each in verdicts} != {EXACT}
    for each in verdicts:
        assert each.outcome != WRONG, each.why
        assert each.outcome == EXACT or ("site programs.py:" in each.why and " must " in each.why)


@settings(max_examples=examples(8), deadline=None)
@given(
    custom=st.sampled_from((first_larger, between, last_smaller)),
    element=st.integers(1, 64), header=st.integers(0, 32), block=st.sampled_from((8, 10, 16, 32)), by=st.integers(1, 2),
)  # fmt: skip
def test_templates_with_any_parameters_are_exact_or_refused(
    custom: Callable[[int, int, int], int], element: int, header: int, block: int, by: int
) -> None:
    """Element sizes, headers, blocks, distances and ways of rounding are drawn."""

    def program(comm: Comm, n: int) -> None:
        mine = custom(n, comm.size, comm.rank)
        for _ in range(0, n, block):
            comm.sendrecv(element * mine + header, (comm.rank + by) % comm.size, (comm.rank - by) % comm.size)
        comm.gather(element * mine * n)

    case = Case(program)
    learned = learn(case)
    if not learned.refusals:
        for target in case.targets:
            assert judge_there(case, learned, *target).outcome != WRONG


@settings(max_examples=examples(8), deadline=None)
@given(seed=st.integers(0, 2**32 - 1), most=st.sampled_from((2, 3, 10, 1000)), of=st.sampled_from(("P", "nP", "nPr")))
def test_chance_follows_no_rule(seed: int, most: int, of: str) -> None:
    """Random numbers by size, ranks or both have no rule, except that one in some hundred tables fits one by chance.

    So one of three tables may have a rule: two of them would in one of some thousand runs.
    """
    v = samples((n, p) for n in (50, 77, 112) for p in (4, 6, 8, 16))
    n, p, r = v["n"], v["P"], v["rank"]
    key = {"P": p, "nP": n * 64 + p, "nPr": (n * 64 + p) * 64 + r}[of]
    _, which = np.unique(key, return_inverse=True)
    drawn = np.random.default_rng(seed).integers(0, most, (3, which.max() + 1))
    tables = [y[which] for y in drawn if len(np.unique(y)) > 1]
    rules = [Search(v).rule(y) for y in tables]
    found = [str(rule) for rule in rules if rule is not None]
    assert len(found) < 2, found


@pytest.mark.parametrize(
    "numbers",
    [
        (206, 205, 240, 335),  # 1/2 log2 P (P mod 3) + 32 ceil(P / 3) + 141
        (507, 444, 825, 906),  # 111/2 log2 P (P mod 3) + 24 P + 300
    ],
)
def test_one_of_many_sums_that_fits_by_chance_is_no_rule(numbers: tuple[int, ...]) -> None:
    """Random numbers for 4, 6, 8 and 16 ranks: hundreds of pairs of products were tried before one fits all four."""
    v = samples((n, p) for n in (50, 77, 112) for p in (4, 6, 8, 16))
    assert Search(v).rule(np.array(numbers)[np.searchsorted((4, 6, 8, 16), v["P"])]) is None


@pytest.mark.parametrize(
    ("ranks", "formula"),
    [
        ((4, 6, 8, 16), lambda p: p * (p - 1) // 2),
        ((2, 3, 4, 6, 8), lambda p: p * (p - 1) // 2),
        ((2, 3, 4, 6, 8), lambda p: 3 * p * p - 2 * p + 1),
    ],
)
def test_light_sums_need_few_numbers_of_ranks(ranks: tuple[int, ...], formula: Callable[[Integers], Integers]) -> None:
    """Pairs of ranks, and a sum of three terms on five numbers of ranks, are known on 40 and 65 ranks, too."""
    v = samples((n, p) for n in (50, 77, 112) for p in ranks)
    rule = Search(v).rule(formula(v["P"]))
    assert rule is not None
    there = samples([(100, 40), (100, 65)])
    assert (rule(there) == formula(there["P"])).all()


def samples(places: Iterable[tuple[int, int]]) -> dict[str, Integers]:
    """Return the variables of all ranks at these sizes and numbers of ranks."""
    n, p, r = (np.array(c, np.int64) for c in zip(*((n, p, r) for n, p in places for r in range(p)), strict=True))
    return {"n": n, "P": p, "rank": r, "s": p, "r": r}


@pytest.mark.parametrize(
    "rule",
    [
        lambda n, _: 8 * np.minimum(n, 100),
        lambda n, p: np.minimum(n // p, 15),
        lambda n, _: np.maximum(8 * n - 500, 24),
        lambda n, p: 8 * (n * n // (p * p)),
    ],
)
def test_bounds_and_tiles_are_told(rule: Callable[[Integers, Integers], Integers]) -> None:
    """Rules hold above and below a bound, on other numbers of ranks, and for squares that are rounded once."""
    v = samples((n, p) for n in (35, 50, 77, 112, 150) for p in (4, 6, 8))
    found = Search(v).rule(rule(v["n"], v["P"]))
    assert found is not None
    for place in ((64, 16), (224, 16), (40, 3)):
        there = samples([place])
        assert (found(there) == rule(there["n"], there["P"])).all()


@settings(max_examples=examples(6), deadline=None)
@given(unit=st.sampled_from((4, 8, 16)), element=st.integers(1, 9), flat=st.booleans(), noise=st.booleans())
def test_shares_in_units_are_exact_or_refused(unit: int, element: int, flat: bool, noise: bool) -> None:
    """Shares of whole units, of strips or of tiles; a byte too many or a remainder is refused."""

    def size(n: int, p: int, r: int) -> int:
        if flat:
            return element * n * between(n // unit, p, r)
        q = next(each for each in range(isqrt(p), 0, -1) if p % each == 0)
        return element * between(n // unit, q, r // (p // q)) * between(n // unit, p // q, r % (p // q))

    def sizes(v: dict[str, Integers]) -> Integers:
        return np.array([size(*each) for each in zip(*(v[name].tolist() for name in ("n", "P", "rank")), strict=True)])

    v = samples((unit * k, p) for k in (37, 50, 77) for p in (4, 6, 8, 16))
    y = sizes(v)
    y[-1] += noise
    found = Search(v).rule(y)
    if noise:
        assert found is None
        return
    assert found is not None
    there = samples([(unit * 113, 24)])
    assert (found(there) == sizes(there)).all()
    with pytest.raises(UndeterminedError):
        found(samples([(unit * 113 + 1, 24)]))


def turns(ranks: Iterable[int], indices: int) -> dict[str, Integers]:
    """Return the variables of rank 0 in each iteration of a loop over indices, at two sizes."""
    places = [(n, p, i) for n in (indices, indices - 3) for p in ranks for i in range(n)]
    n, p, i = (np.array(column, np.int64) for column in zip(*places, strict=True))
    return {"n": n, "P": p, "rank": 0 * p, "s": p, "r": 0 * p, "i0": i}


@settings(max_examples=examples(6), deadline=None)
@given(block=st.integers(2, 12), ranks=st.sampled_from(((2, 3), (3, 4))), wrong=st.booleans())
def test_owners_of_indices_are_exact_or_refused(block: int, ranks: tuple[int, ...], wrong: bool) -> None:
    """Blocks of any size are dealt out in turn; a single index with another owner is refused."""
    v = turns(ranks, block * (max(ranks) + 1) + 2)
    y = v["i0"] // block % v["P"]
    y[len(y) // 2] = (y[len(y) // 2] + wrong) % v["P"][len(y) // 2]
    found = Search(v, plain=True).rule(y)
    if wrong:
        assert found is None, str(found)
        return
    assert found is not None
    there = turns((7,), 9 * block)
    assert (found(there) == there["i0"] // block % 7).all()


@settings(max_examples=examples(4), deadline=None)
@given(seed=st.integers(0, 2**32 - 1), block=st.integers(2, 5))
def test_owners_by_chance_follow_no_rule(seed: int, block: int) -> None:
    """Blocks have equal sizes but random owners, for each size and number of ranks."""
    v = turns((2, 3, 4), 6 * block)
    of, which = np.unique((v["P"] * 64 + v["n"]) * 64 + v["i0"] // block, return_inverse=True)
    y = np.random.default_rng(seed).integers(0, 4, len(of))[which] % v["P"]
    found = Search(v, plain=True).rule(y)
    assert found is None, str(found)


def test_owners_that_never_come_round_are_none() -> None:
    """With four blocks on at least four ranks, no recording shows where a second round would begin."""
    v = turns((4, 5, 6), 12)
    assert Search(v, plain=True)._dealt(v["i0"] // 3 % v["P"]) == ()


def test_a_bound_that_one_size_reaches_is_none() -> None:
    """Only size 112 exceeds the bound of 100, so the bound is not believed."""
    v = samples((n, p) for n in (35, 50, 77, 112) for p in (4, 6, 8))
    assert Search(v).rule(8 * np.minimum(v["n"], 100)) is None


def test_refusals_are_not_guesses() -> None:
    """Data-dependent sizes are refused while learning."""
    refusals = learn(replace(CASES["pairs_table"], recorded=((50, 3), (77, 3), (50, 4), (77, 4)))).refusals
    assert "Alltoallv entries of lists must follow a rule" in refusals[0]


def test_branches_of_an_if_are_taken_in_different_iterations() -> None:
    """Two branches in a loop without other calls are placed in the right iterations."""
    assert EXACT in [each.outcome for each in judge(CASES["branches"])]


@pytest.mark.parametrize(
    ("name", "target", "place"), [("even_strips", (2592, 64), (434, 4)), ("panels", (233, 64), (57, 4))]
)
def test_a_refusal_says_which_recording_decides(name: str, target: tuple[int, int], place: tuple[int, int]) -> None:
    """By hand: n // P and ceil(n / P) differ at 434 / 4; ceil(n / 8) and ceil((n - 1) / 8) where n is 8 k + 1: at 57.

    Sizes are even where all recorded ones are. With that recording, the target is exact.
    """
    case = CASES[name]
    learned = learn(case)
    generator = Generator(learned.structure, *target)
    generator.make()
    refusals = decided(learned.structure, generator, case.recorded)
    assert {each.decided for each in refusals} == {place}
    assert str(refusals[0]).endswith(f"differ there: record size {place[0]} on {place[1]} ranks to decide")
    more = replace(case, recorded=(*case.recorded, place))
    assert judge_there(more, learn(more), *target).outcome == EXACT


def test_each_group_of_ranks_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a grid of 8 x 8, groups are made for the first rank of each row and column, not for every member."""
    asked: set[int] = set()

    def members(kinds: Sequence[str], ranks: int, rank: int) -> tuple[int, ...]:
        asked.add(rank)
        return members_of(kinds, ranks, rank)

    case = CASES["rows_and_columns"]
    learned = learn(case)
    monkeypatch.setattr("clue.structure.generate.members_of", members)
    assert judge_there(case, learned, 224, 64).outcome == EXACT
    assert asked == {*range(8), *range(0, 64, 8)}


def test_nothing_within_what_was_recorded_decides_what_begins_beyond() -> None:
    """A rule and its rival differ only beyond all recordings, so no recording is suggested."""
    v = variable("n")
    beyond = Predicate((Comparison(v, ">=", ZERO, 200),))
    count = Rule((), (beyond,), Rule((Sum(((Fraction(1), (v,)),)), Sum(()))), Rule.constant(3))
    learned = learn(replace(CASES["halo_line"], recorded=((50, 4), (50, 8), (77, 4), (77, 8))))
    (part,) = [each for each in learned.structure.parts if each.part.call == "Allreduce"]
    part.rows = count
    generator = Generator(learned.structure, 224, 8)
    generator.make()
    (refusal,) = decided(learned.structure, generator, ((50, 4), (50, 8), (77, 4), (77, 8)))
    assert refusal.decided is None and "to decide" not in str(refusal)


def test_a_recording_is_suggested_for_each_call_that_equal_rivals_concern() -> None:
    """Two numbers of rows differ beyond a size of 60, of the second call only on six ranks and more.

    Of the numbers of ranks up to 8, 4 and 8 are powers of two, as all recorded ones are.
    """
    recorded = ((50, 4), (50, 8), (77, 4), (77, 8))
    rows, more = (Fraction(1), (variable("n"),)), (Fraction(1), (Atom("beyond", lambda v: np.maximum(v["n"] - 60, 0)),))
    rivals = Rule((Sum((rows,)), Sum((rows, more))))
    learned = learn(replace(CASES["halo_line"], recorded=recorded))
    first = next(each for each in learned.structure.parts if each.part.call == "Send")
    (second,) = (each for each in learned.structure.parts if each.part.call == "Allreduce")
    first.rows = rivals
    many = Predicate((Comparison(variable("P"), ">=", ZERO, 6),))
    second.rows = Rule((), (many,), rivals, Rule.constant(3))
    generator = Generator(learned.structure, 224, 8)
    generator.make()
    found = decided(learned.structure, generator, recorded)
    assert [each.decided for each in found] == [(61, 4), (61, 8)]


def crosswise(comm: Comm, n: int) -> None:
    """Even ranks start their send before their receive, odd ranks after it."""
    send = (Op.ISEND, (comm.rank + 1) % comm.size, 8 * n)
    receive = (Op.IRECV, (comm.rank - 1) % comm.size, 0)
    comm.waitall(comm.startall([receive, send] if comm.rank % 2 else [send, receive]))


def once_more(comm: Comm, n: int) -> None:
    """A call without a loop around it, which one rank of one recording makes twice."""
    list(map(lambda _: comm.barrier(), range(2 if (n, comm.size, comm.rank) == (50, 4, 0) else 1)))  # noqa: C417


@pytest.mark.parametrize(
    ("program", "why"),
    [
        (crosswise, "Startall operations must be in one order in all calls, got several"),
        (once_more, "must be called once, or in a loop of the program, got 1 more call"),
    ],
)
def test_calls_in_no_order_are_refused(program: Callable[[Comm, int], None], why: str) -> None:
    """Operations within a call and calls of a program have one order."""
    refusals = learn(Case(program, recorded=tuple((n, p) for n in (50, 77) for p in (4, 6)))).refusals
    assert any(each.endswith(why) for each in refusals)


def test_a_form_that_is_no_integer_is_not_the_rule() -> None:
    """By hand: n / 2 and n // 2 agree at 6; at 7 only n // 2 = 3 is an integer, and alone, n / 2 determines nothing."""
    half, floor = Sum(((Fraction(1, 2), (variable("n"),)),)), Sum(((Fraction(1), (next(parts(variable("n"), 2)),)),))
    there = samples([(7, 1)])
    assert Rule((half, floor))(there).tolist() == [3]
    with pytest.raises(UndeterminedError, match="1/2·n is no integer there"):
        Rule((half,))(there)


@pytest.mark.parametrize("copies", [1, 2, 3, 5])
def test_sums_beyond_64_bits_are_refused(copies: int) -> None:
    """Some times n², written as a sum: all are right below 2^63 = 9.22·10¹⁸, although each square fits into 64 bits.

    In 64 bits twice 9·10¹⁸ would be -4.5·10¹⁷, and five times 4·10¹⁸ would be 1.6·10¹⁸.
    """
    squares = Sum(((Fraction(1), (variable("n"),) * 2),) * copies)
    for n in (10**9, 2 * 10**9, 3 * 10**9):
        there = samples([(n, 1)])
        if copies * n**2 < 1 << 63:
            assert squares(there).tolist() == [copies * n**2]
        else:
            with pytest.raises(UndeterminedError, match="is no integer of up to 63 bits there"):
                squares(there)


def test_a_condition_on_a_form_that_is_no_integer_is_none() -> None:
    """By hand: min(P // 2, 4) is 3 on 6 and 7 ranks and 4 on 9; P / 2 agrees with P // 2 on even numbers of ranks."""
    half, floor = Sum(((Fraction(1, 2), (variable("P"),)),)), Sum(((Fraction(1), (next(parts(variable("P"), 2)),)),))
    reached = tuple(
        Predicate((Comparison(Atom(str(form), form, form.weight), ">=", ZERO, 4),)) for form in (half, floor)
    )
    rule = Rule((), reached, Rule.constant(4), Rule((half, floor)))
    assert [rule(samples([(50, ranks)])).tolist() for ranks in (6, 7, 9)] == [[3] * 6, [3] * 7, [4] * 9]
    alone = Rule((), reached[:1], Rule.constant(4), Rule((floor,)))
    with pytest.raises(UndeterminedError, match="1/2·P is no integer there"):
        alone(samples([(50, 7)]))


def rows_then_columns(comm: Comm, n: int) -> None:
    """Reduce along rows and columns of the most square grid, whose communicators one rank has alone."""
    _, q = dims2(comm.size)
    row, column = comm.split(lambda r: r // q), comm.split(lambda r: r % q)
    assert row is not None
    assert column is not None
    row.allreduce(8 * n)
    column.allreduce(16 * n)


def test_communicators_of_one_rank_may_be_those_of_any_call() -> None:
    """On one rank, a row and a column are the same group; on 25 ranks, each has five ranks, a column every fifth."""
    case = Case(rows_then_columns, recorded=tuple((n, p) for n in (50, 77, 112) for p in (1, 4, 6, 9)))
    learned = learn(case)
    assert learned.refusals == ()
    assert judge_there(case, learned, 224, 25).outcome == EXACT


def dividing_again(comm: Comm, n: int) -> None:
    """Make a communicator in each of three iterations."""
    for _ in range(3):
        every = comm.split(lambda _: 0)
        assert every is not None
        every.allreduce(8 * n)


def test_communicators_of_several_calls_are_counted_by_constructor() -> None:
    """The refusal tells that three communicators are used, not three times the name of their constructor."""
    refusals = learn(Case(dividing_again, recorded=tuple((n, p) for n in (50, 77) for p in (4, 6)))).refusals
    why = "Allreduce communicators must be made by one call of the program, got 3 of Split"
    assert any(each.endswith(why) for each in refusals)


def test_a_refusal_names_a_single_rank() -> None:
    """The message has a target with one rank."""
    learned = learn(replace(CASES["halo_line"], recorded=((50, 4), (50, 8), (77, 4), (77, 8))))
    for part in learned.structure.parts:
        part.rows = Rule((Sum(((Fraction(1, 2), ()),)),))
    generator = Generator(learned.structure, 224, 1)
    generator.make()
    assert "must be determined by recordings at size 224 on 1 rank, got" in str(generator.refusals[0])


def test_learning_tells_how_far_it_is() -> None:
    """Progress is reported by site and column, with numbers."""
    told: list[tuple[str, int, int]] = []
    trace = [run(CASES["ring"].program, size, ranks) for size, ranks in ((50, 4), (77, 4), (50, 6), (77, 6))]
    sites = {site: number for number, site in enumerate(trace[0].head.sites)}
    examples = [
        Example(size, ranks, each, np.array([sites[site] for site in each.head.sites])[each.ops.site])
        for each, (size, ranks) in zip(trace, ((50, 4), (77, 4), (50, 6), (77, 6)), strict=True)
    ]
    Learner(tuple(sites), Tables.of(tuple(sites), examples), lambda *each: told.append(each)).learn()
    assert told[0][0].startswith("learning rules: programs.py:") and told[0][0].endswith(", iterations")
    assert {"partners", "tags", "sizes"} <= {what.rpartition(", ")[2] for what, _, _ in told}
    assert {(done, total) for _, done, total in told} == {(0, 1)}


def by_arrival(comm: Comm, n: int) -> None:
    """Rank 0 receives messages from any source, in a random order."""
    order = np.random.default_rng(n * comm.size).permutation(comm.size - 1) + 1
    if comm.rank == 0:
        for source in order.tolist():
            comm.recv(source, flags=int(Flag.ANY_SOURCE))
    else:
        comm.send(8 * n, 0)


def by_polls(comm: Comm, n: int) -> None:
    """Each rank tests a request a random number of times."""
    request = comm.irecv((comm.rank - 1) % comm.size)
    comm.send(8, (comm.rank + 1) % comm.size)
    for _ in range(int(np.random.default_rng((n, comm.size, comm.rank)).integers(1, 40))):
        comm.test(request)
    comm.wait(request)


@pytest.mark.parametrize(
    ("program", "why"),
    [
        (by_arrival, "Recv partners must follow a rule in n, P, rank and iteration, got"),
        (by_polls, "in the loop of line"),
    ],
)
def test_what_timing_decides_is_refused_and_said(program: Callable[[Comm, int], None], why: str) -> None:
    """Receives from any source and unsuccessful tests are refused, and the message says that timing decides."""
    refusals = learn(Case(program, recorded=tuple((n, p) for n in (50, 77) for p in (3, 4, 6)))).refusals
    assert any(why in each and each.endswith("depends on timing") for each in refusals)
