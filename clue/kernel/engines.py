"""Which engine replays: the reference, or the fast one where it covers the case and saves time.

That is decided once for all replays that belong together, by how many ops they have in all (:func:`engine_for`). What
is decided is passed on in the place of what was asked for, and stays as it is.
"""

from __future__ import annotations

from clue.caveats import About, Caveat
from clue.kernel import reference
from clue.kernel.model.observation import Observation
from clue.kernel.model.program import Program
from clue.kernel.model.replay import Replay
from clue.machine import Machine, Placement

#: What can be asked for.
ENGINES = ("auto", "reference", "fast")
#: What is decided while the fast engine is being compiled: the reference until it is there, then the fast one.
WHEN_COMPILED = "fast when compiled"

#: From so many ops on the fast engine saves time, loaded; and compiled, which takes as long as the reference for them.
_OPS_WORTH_LOADING, _OPS_WORTH_COMPILING = 2_000, 1_000_000
#: For so many, a second of the reference's, a replay waits until an engine that is being compiled is there.
_OPS_WORTH_WAITING = 50_000


def engine_for(work: int, asked: str = "auto") -> str:
    """Decide which engine makes all replays of a piece of work; one that has to be compiled for it is begun with.

    Args:
        work: How many ops they have in all, about.
        asked: What was asked for. All but ``"auto"`` stays as it is, so what has been decided is not decided again.

    Returns:
        ``"reference"``, ``"fast"`` or ``WHEN_COMPILED``.
    """
    if asked != "auto":
        return asked
    if work < _OPS_WORTH_LOADING:
        return "reference"
    from clue.kernel.fast.library import ENGINE  # noqa: PLC0415 - small work does without it
    from clue.native import NoLibraryError  # noqa: PLC0415

    try:
        if ENGINE.is_there():
            return "fast"
    except NoLibraryError:
        return "fast"  # a cache that is refused must be told of beside the result, not stand for the reference for ever
    if work < _OPS_WORTH_COMPILING:
        return "reference"
    ENGINE.is_under_way()
    return WHEN_COMPILED


def reason_for(asked: str, decided: str, work: int) -> str:
    """Say why :func:`engine_for` decided as it did."""
    if asked != "auto":
        return f"{asked} was asked for"
    if work < _OPS_WORTH_LOADING:
        return f"below {_OPS_WORTH_LOADING:,} ops the reference is done before the fast engine is loaded"
    if decided == "reference":
        return f"below {_OPS_WORTH_COMPILING:,} ops it does not pay to compile the fast engine"
    if decided == WHEN_COMPILED:
        return f"from {_OPS_WORTH_COMPILING:,} ops on it pays to compile the fast engine; the reference begins"
    return f"from {_OPS_WORTH_LOADING:,} ops on the fast engine saves time, where it covers the case"


def is_awaited(engine: str) -> bool:
    """Tell whether the fast engine is to replay as soon as it is compiled, which it is not yet."""
    if engine != WHEN_COMPILED:
        return False
    from clue.kernel.fast.library import ENGINE  # noqa: PLC0415

    return ENGINE.is_under_way()


def is_fast(engine: str, ops: int) -> bool:
    """Tell whether the fast engine is to make a replay of so many ops, or a sweep; a long one waits for it."""
    return engine == "fast" or (engine == WHEN_COMPILED and (ops >= _OPS_WORTH_WAITING or not is_awaited(engine)))


def run(  # noqa: PLR0917 - the arguments of every engine, and which
    engine: str, program: Program, machine: Machine, placement: Placement, instances: int, seen: Observation
) -> tuple[Replay, tuple[str, ...]]:
    """Replay a program with the engine asked for; returns what it yields, and what to say of the engine.

    Raises:
        DeadlockError: If the program deadlocks in virtual time.
    """
    notes: tuple[str, ...] = ()
    reason = _not_covered(seen)
    ops = program.ops * instances
    if is_fast(engine_for(0 if reason else ops, engine), ops):
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
    return "it keeps no timeline" if seen.segments is not None or seen.keeps_calls else ""
