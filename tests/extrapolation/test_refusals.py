"""Programs that refuse sizes or numbers of ranks: the plan without these, and the messages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clue.errors import RecordError, UsageError
from clue.extrapolation import recordings
from clue.extrapolation.admissible import Admissible
from clue.extrapolation.pattern import Pattern
from clue.extrapolation.plan import COUNTS, SIZES, Plan, Wanted, wanted
from clue.extrapolation.recordings import Planner
from clue.progress import Progress, silent
from clue.recording import Request
from clue.trace import Trace
from tests.extrapolation.families import ring
from tests.properties import examples

Takes = Callable[[int, int], bool]


def is_power(number: int) -> bool:
    """Tell whether a number is a power of two."""
    return number > 0 and number & (number - 1) == 0


def always(_size: int, _ranks: int) -> bool:
    """Accept any size and number of ranks."""
    return True


def never(_size: int, _ranks: int) -> bool:
    """Accept no size and number of ranks."""
    return False


#: Demands of programs, their notation, and a target that meets them.
PROGRAMS: dict[str, tuple[Takes, tuple[str, ...], Wanted]] = {
    "anything": (always, (), Wanted(1000, 64)),
    "multigrid": (lambda n, p: n % 8 == 0 and n // 8 >= p, ("size=8*k", "size=8*ranks+k"), Wanted(1024, 64)),
    "workers": (lambda n, p: n % 20 == 0 and p > 1, ("size=20*k", "ranks=2+k"), Wanted(320, 64)),
    "powers of two": (lambda _, p: is_power(p), ("ranks=2^k",), Wanted(1024, 64)),
    "squares": (lambda _, p: round(p**0.5) ** 2 == p, ("ranks=k^2",), Wanted(1000, 64)),
    "even shares": (lambda n, p: n % p == 0, ("size=ranks*k",), Wanted(960, 96)),
    "radix-2": (lambda n, p: is_power(n) and is_power(p), ("ranks=2^k", "size=2^k"), Wanted(4096, 64)),
    "vertices": (lambda n, _: is_power(n - 1), ("size=2^k+1",), Wanted(1025, 64)),
    "even numbers": (lambda _, p: p % 2 == 0, ("ranks=2*k",), Wanted(1000, 64)),
    "small": (lambda n, p: is_power(p) and n % p == 0, ("ranks=2^k", "size=ranks*k"), Wanted(64, 16)),
}


class Program:
    """A stand-in for a program that the planner tries; it notes all requests."""

    def __init__(self, takes: Takes, works: Takes = always) -> None:
        self.takes, self.works = takes, works
        self.asked: list[Wanted] = []

    def recordings_of(
        self, requests: Sequence[Request], repeats: int, _progress: Progress = silent
    ) -> list[tuple[Trace, ...]]:
        """Return recordings, or raise an error for the first request that fails."""
        found = []
        for request in requests:
            size, ranks = int(request.launch.arguments[0]), request.launch.ranks
            self.asked.append(Wanted(size, ranks))
            if not self.takes(size, ranks) or not self.works(size, ranks):
                why = "program must end well, got exit status 1: and so on"
                raise RecordError(f"p.py: {why}", refused=not self.takes(size, ranks))
            found.append(tuple(ring(size, ranks, 1e-3 + 1e-5 * i) for i in range(repeats)))
        return found


def carried_out(monkeypatch: pytest.MonkeyPatch, program: Program, target: Wanted, said: Sequence[str] = ()) -> Plan:
    """Return the plan for a target, with every recording tried on the program."""
    monkeypatch.setattr(recordings, "recordings_of", program.recordings_of)
    planner = Planner(Path("p.py"), ("{size}",), memory=1e12)
    return planner.plan(target, takes=Admissible.parse(said), try_all=True)


def places(plan: Plan) -> set[Wanted]:
    """Return the places that a plan records."""
    return {Wanted(each.size, each.ranks) for each in plan.recordings}


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_a_program_refuses_is_found_out(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few tries are refused, each refusal is reported, and the plan still has enough sizes and ranks."""
    takes, _, target = PROGRAMS[name]
    program = Program(takes)
    plan = carried_out(monkeypatch, program, target)
    assert all(takes(each.size, each.ranks) for each in places(plan))
    assert len(plan.refused) <= 12
    assert {Wanted(each.size, each.ranks) for each in plan.refused} == {
        each for each in program.asked if not takes(each.size, each.ranks)
    }
    assert {each.instead for each in plan.refused} - {None} <= places(plan)
    sizes, numbers = plan.variety
    assert sizes >= SIZES - (name == "small") and numbers >= COUNTS
    assert all(plan.bracketed(dimension) for dimension in (1, 2, 3))
    assert plan.tried and (plan.refused or not plan.learned.demands)


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_a_program_is_said_to_take_is_all_that_is_planned(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With demands stated by the user, the program refuses nothing."""
    takes, said, target = PROGRAMS[name]
    plan = carried_out(monkeypatch, Program(takes), target, said)
    assert plan.refused == () and plan.learned.demands == ()
    assert [*map(str, plan.takes.demands)] == list(said)
    sizes, numbers = plan.variety
    assert sizes >= SIZES - (name == "small") and numbers >= COUNTS
    assert all(plan.bracketed(dimension) for dimension in (1, 2, 3))


@settings(max_examples=examples(12), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    multiple=st.integers(1, 60),
    factor=st.sampled_from((1, 2, 4, 8)),
    numbers=st.sampled_from(("2^k", "k^2", "2*k", "3*k", "k")),
    blocks=st.integers(4, 40),
)
def test_any_program_of_a_kind_is_found_out(
    multiple: int, factor: int, numbers: str, blocks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The program demands multiples, a minimum size per rank, and numbers of ranks of some form; the plan meets all.

    If it refuses the first tries, the plan gives up and reports each of them.
    """
    truth = Admissible.parse([f"size={multiple}*k", f"size={factor}*ranks+k", f"ranks={numbers}"])
    target = Wanted(multiple * factor * blocks * 36, 36)
    if not truth.holds(target.size, target.ranks):
        return
    program = Program(truth.holds)
    try:
        plan = carried_out(monkeypatch, program, target)
    except RecordError as error:
        assert len(error.faults) == len(program.asked) >= recordings._HOPELESS
        assert not any(truth.holds(each.size, each.ranks) for each in program.asked)
        return
    assert plan.recordings and all(truth.holds(each.size, each.ranks) for each in plan.recordings)
    assert len(plan.refused) <= recordings._REFUSED


def test_the_plan_by_hand_of_a_program_on_powers_of_two() -> None:
    """6 ranks are replaced by 2, and 27 ranks by 32; the sizes on other ranks stay the same."""
    free, bound = wanted(1024, 64), wanted(1024, 64, Admissible.parse(["ranks=2^k"]))
    assert {role.ranks: each.ranks for role, each in bound.items()} == {4: 4, 8: 8, 16: 16, 6: 2, 27: 32}
    for role in (4, 8, 16):
        assert {each for key, each in free.items() if key.ranks == role} == {
            each for key, each in bound.items() if key.ranks == role
        }


def test_the_plan_by_hand_of_a_program_at_multiples_of_20() -> None:
    """For 320 on 64 ranks, 40, 113 and 160 are ideal on 8 ranks; 120 is the multiple of 20 near 113."""
    found = wanted(320, 64, Admissible.parse(["size=20*k"]))
    assert {each.size for role, each in found.items() if role.ranks in (4, 8, 16)} == {40, 120, 160}
    assert all(each.size % 20 == 0 for each in found.values())


def test_a_size_that_is_too_small_for_many_ranks_stays_on_few() -> None:
    """With at least 16 per rank, size 128 is too small for 16 ranks, which get 256 instead."""
    found = wanted(1024, 64, Admissible.parse(["size=16*ranks+k"]))
    assert {each for role, each in found.items() if role.size == 0 and role.ranks in (4, 8, 16)} == {
        Wanted(128, 4), Wanted(128, 8), Wanted(256, 16),
    }  # fmt: skip


def test_only_the_smallest_are_tried_for_a_plan_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without ``--run``, only the smallest recordings are tried, on few ranks."""
    takes, _, target = PROGRAMS["radix-2"]
    program = Program(takes)
    monkeypatch.setattr(recordings, "recordings_of", program.recordings_of)
    plan = Planner(Path("p.py"), ("{size}",), memory=1e12).plan(target)
    assert not plan.tried
    assert {each.ranks for each in plan.recordings} >= {4, 8, 16}
    assert {each.ranks for each in program.asked}.isdisjoint({8, 16, 32})


def test_a_program_that_takes_nothing_is_said_to() -> None:
    """After a few refused tries, the error reports each of them."""
    program = Program(never)
    with pytest.MonkeyPatch.context() as monkeypatch, pytest.raises(RecordError) as failed:
        carried_out(monkeypatch, program, Wanted(1000, 64))
    assert len(program.asked) == len(set(program.asked)) <= recordings._HOPELESS
    assert set(failed.value.faults) == {
        "p.py: program must end well, got exit status 1",
        "p.py: program must end well, got exit status 1: and so on",
    }


def test_what_was_recorded_is_kept_where_nothing_else_seems_to_be_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the learned demands leave nothing, the plan keeps what was recorded; if nothing was, it fails."""
    monkeypatch.setattr(recordings, "demands", lambda *_: Admissible.parse(["size=999983*k"]).demands)
    plan = carried_out(monkeypatch, Program(lambda _, p: p == 4), Wanted(1000, 64))
    assert {each.ranks for each in plan.recordings} == {4}
    with pytest.raises(RecordError, match="must end well, got exit status 1"):
        carried_out(monkeypatch, Program(never), Wanted(1000, 64))


def test_a_program_that_fails_at_once_for_another_reason_ends_the_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first failure that is not a refusal ends the plan, as other places would fail, too."""
    program = Program(always, never)
    with pytest.raises(RecordError, match="got exit status 1: and so on"):
        carried_out(monkeypatch, program, Wanted(1000, 64))
    assert len(program.asked) == 1


def test_what_fails_after_others_worked_is_left_out_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A later failure that is not a refusal is left out without a replacement, and no demand is learned from it."""
    program = Program(always, lambda _, p: p != 27)
    plan = carried_out(monkeypatch, program, Wanted(1000, 64))
    assert {each.ranks for each in plan.recordings} == {4, 6, 8, 16}
    assert {(each.ranks, each.instead) for each in plan.refused} == {(27, None)}
    assert plan.learned.demands == ()
    assert str(plan.refused[0]).endswith(
        "on 27 ranks could not be recorded: p.py: program must end well, got exit status 1; instead: nothing"
    )


def test_a_target_that_is_refused_ends_the_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    """A plan for 4 ranks records the target itself, so its refusal ends the plan."""
    assert Wanted(64, 4) in wanted(64, 4).values()
    with pytest.raises(RecordError):
        carried_out(monkeypatch, Program(lambda n, p: (n, p) != (64, 4)), Wanted(64, 4))


def test_nothing_that_could_be_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    """All sizes and ranks that the user states are far from the planned ones, and the message says so."""
    with pytest.raises(UsageError, match=r"--admissible ranks=512\*k must leave something to record, got nothing near"):
        carried_out(monkeypatch, Program(always), Wanted(4096, 512), ["ranks=512*k"])


def test_what_decides_is_recorded_only_where_the_program_takes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Additional recordings are planned only if they meet the demands that the user states."""
    monkeypatch.setattr(recordings, "recordings_of", Program(always).recordings_of)
    planner = Planner(Path("p.py"), ("{size}",), memory=1e12)
    further = (Wanted(90, 3), Wanted(90, 2))
    plan = planner.plan(Wanted(64, 16), 1, further, Admissible.parse(["ranks=2^k"]), try_all=True)
    assert Wanted(90, 2) in places(plan) and Wanted(90, 3) not in places(plan)


def test_recordings_are_saved_where_the_pattern_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Each recording is saved under the pattern's name for it."""
    program = Program(lambda _, p: is_power(p))
    plan = carried_out(monkeypatch, program, Wanted(64, 8))
    pattern = Pattern(str(tmp_path / "p-{size}-{ranks}.clue"))
    Planner(Path("p.py"), ("{size}",)).make(plan, pattern)
    assert set(pattern.found()) == {(each.size, each.ranks) for each in plan.recordings}
