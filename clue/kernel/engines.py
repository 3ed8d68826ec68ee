"""Which engine replays: the reference, or the fast one where it is there, covers the case and saves time."""

from __future__ import annotations

from clue.caveats import About, Caveat
from clue.kernel import reference
from clue.kernel.model.observation import Observation
from clue.kernel.model.program import Program
from clue.kernel.model.replay import Replay
from clue.machine import Machine, Placement

ENGINES = ("auto", "reference", "fast")

#: From so many ops on the fast engine saves time, loaded from its cache; and compiled first.
_OPS_WORTH_LOADING, _OPS_WORTH_COMPILING = 2_000, 2_000_000


def run(  # noqa: PLR0917 - the arguments of every engine, and which
    engine: str, program: Program, machine: Machine, placement: Placement, instances: int, seen: Observation
) -> tuple[Replay, tuple[str, ...]]:
    """Replay a program with the engine asked for; returns what it yields, and what to say of the engine.

    Raises:
        DeadlockError: If the program deadlocks in virtual time.
    """
    notes: tuple[str, ...] = ()
    reason = _not_covered(seen)
    if is_worth_it(engine, 0 if reason else program.ops * instances):
        if not reason:
            from clue.kernel import fast  # noqa: PLC0415 - small work does without it

            try:
                return fast.replay(program, machine, placement, instances, seen), ()
            except (fast.NoLibraryError, fast.NotCoveredError) as error:
                reason = str(error)
        text = "the fast engine is not used: {reason}; the reference engine computed this"
        notes = (Caveat(About.ENGINE, "engine", text, {"reason": reason}),)
    return reference.replay(program, machine, placement, instances, seen), notes


def _not_covered(seen: Observation) -> str:
    return "it keeps no timeline" if seen.segments is not None else ""


def engine_choice(engine: str, ops: int, answered: str, *, timeline: bool = False) -> str:
    """Say why an engine answered.

    Args:
        engine: Which one was asked for.
        ops: How many ops it replayed.
        answered: Which one answered.
        timeline: Whether a timeline was kept.
    """
    if engine not in {"auto", answered}:
        return f"{engine} was asked for, and a warning says why it did not answer"
    if timeline:
        return "only the reference keeps a timeline"
    if engine != "auto":
        return f"{engine} was asked for"
    if ops < _OPS_WORTH_LOADING:
        return f"below {_OPS_WORTH_LOADING:,} the reference is done before the fast engine is loaded"
    if is_worth_it(engine, ops):
        return f"from {_OPS_WORTH_LOADING:,} on the fast engine saves time, where it covers the case"
    return f"below {_OPS_WORTH_COMPILING:,} it does not pay to compile the fast engine, which was not used here before"


def is_worth_it(engine: str, ops: int) -> bool:
    """Tell whether to replay so many ops with the fast engine."""
    if engine != "auto":
        return engine == "fast"
    if ops < _OPS_WORTH_LOADING:
        return False
    from clue.kernel.fast.library import NoLibraryError, is_compiled  # noqa: PLC0415

    try:
        return ops >= _OPS_WORTH_COMPILING or is_compiled()
    except NoLibraryError:
        return True  # a cache that is refused must be told of beside the result, not stand for the reference for ever
