"""The choice of the engine that replays: the reference, or the fast one where it covers the case and saves time.

One decision holds for all replays that belong together; their total work decides (:func:`engine_for`). The
decision is then passed on as the requested engine, which :func:`engine_for` leaves unchanged.
"""

from __future__ import annotations

from clue.caveats import About, Caveat
from clue.kernel import reference
from clue.kernel.model.observation import Observation
from clue.kernel.model.program import Program
from clue.kernel.model.replay import Replay
from clue.machine import Machine, Placement

#: Engines that a caller can ask for.
ENGINES = ("auto", "reference", "fast")
#: The decision while the fast engine is being compiled: the reference until that is done, then the fast one.
WHEN_COMPILED = "fast when compiled"

#: Least numbers of ops for which loading the fast engine saves time, and for which compiling it does: compilation takes
#: as long as the reference takes for the second number of ops.
_OPS_WORTH_LOADING, _OPS_WORTH_COMPILING = 2_000, 1_000_000
#: Least number of ops for which a replay waits for an engine under compilation: the reference takes a second for it.
_OPS_WORTH_WAITING = 50_000


def engine_for(work: int, asked: str = "auto") -> str:
    """Decide which engine makes all replays of a piece of work; start compiling the fast one if that pays.

    Args:
        work: Total number of ops of the replays, and messages of their total exchanges (:attr:`.Program.work`).
        asked: The engine asked for. Everything but ``"auto"`` is returned as it is, so a decision is not made twice.

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
        return "fast"  # a refused cache must be reported beside the result, not silently mean the reference for ever
    if work < _OPS_WORTH_COMPILING:
        return "reference"
    ENGINE.is_under_way()
    return WHEN_COMPILED


def reason_for(asked: str, decided: str, work: int) -> str:
    """Say why :func:`engine_for` decided as it did."""
    if asked != "auto":
        return f"{asked} was requested"
    if work < _OPS_WORTH_LOADING:
        return f"below {_OPS_WORTH_LOADING:,} ops the reference is done before the fast engine is loaded"
    if decided == "reference":
        return f"below {_OPS_WORTH_COMPILING:,} ops it does not pay to compile the fast engine"
    if decided == WHEN_COMPILED:
        return f"from {_OPS_WORTH_COMPILING:,} ops on it pays to compile the fast engine; the reference begins"
    return f"from {_OPS_WORTH_LOADING:,} ops on the fast engine saves time, where it covers the case"


def is_awaited(engine: str) -> bool:
    """Tell whether replays are to use the fast engine once it is compiled, and it is not compiled yet."""
    if engine != WHEN_COMPILED:
        return False
    from clue.kernel.fast.library import ENGINE  # noqa: PLC0415

    return ENGINE.is_under_way()


def is_fast(engine: str, work: int) -> bool:
    """Tell whether the fast engine makes a replay or a sweep; a long one waits until the engine is compiled."""
    return engine == "fast" or (engine == WHEN_COMPILED and (work >= _OPS_WORTH_WAITING or not is_awaited(engine)))


def run(  # noqa: PLR0917 - the arguments of every engine, and which
    engine: str, program: Program, machine: Machine, placement: Placement, instances: int, seen: Observation
) -> tuple[Replay, tuple[str, ...]]:
    """Replay a program with the requested engine; return the replay, and caveats about the engine.

    Raises:
        DeadlockError: If the program deadlocks in virtual time.
    """
    notes: tuple[str, ...] = ()
    reason = _not_covered(seen)
    work = program.work * instances
    if is_fast(engine_for(0 if reason else work, engine), work):
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
