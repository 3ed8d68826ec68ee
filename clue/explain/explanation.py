"""The explanation of a simulation: its critical path, its efficiencies, and the effect of each machine parameter."""

from __future__ import annotations

from dataclasses import dataclass

from clue.explain.efficiencies import Efficiencies, efficiencies_of
from clue.explain.parameters import parameters_of
from clue.explain.sensitivity import Sensitivity, sensitivities
from clue.kernel import Program
from clue.kernel.reference.critical_path import explained_replay
from clue.machine import Machine, Placement
from clue.predict.replaying import computing_regions
from clue.progress import Progress, silent
from clue.result import AtSites, CriticalPath


@dataclass(frozen=True, slots=True, eq=False)
class Explanation:
    """Why a simulation takes as long as it does.

    Attributes:
        makespan: Seconds.
        path: Its critical path, by the reference engine.
        efficiencies: Sources of lost time; ``None`` if nothing is computed.
        sensitivities: Effect of each parameter of the machine, the largest first.
        sites: Activity of ranks at each call site of the program.
    """

    makespan: float
    path: CriticalPath
    efficiencies: Efficiencies | None
    sensitivities: tuple[Sensitivity, ...]
    sites: AtSites


def explain(
    program: Program,
    machine: Machine,
    placement: Placement,
    instances: int = 1,
    *,
    engine: str = "auto",
    progress: Progress = silent,
) -> Explanation:
    """Explain a program's makespan on a machine: its composition, and the parameters that it depends on.

    Args:
        program: What runs.
        machine: Where.
        placement: Node of each rank of all instances, instance by instance.
        instances: Copies of the program side by side.
        engine: Which engine replays with changed parameters; the critical path takes the reference.
        progress: Told about what is done.

    Raises:
        DeadlockError: If the program deadlocks in virtual time.
    """
    progress("finding the critical path", 0, 0)
    done = explained_replay(program, machine, placement, instances)
    makespan = float(done.replay.finish.max(initial=0.0))
    progress("simulating an ideal network", 0, 0)
    efficiencies = efficiencies_of(program, machine, placement, instances, engine, done.alone, makespan)
    parameters = parameters_of(machine, placement, computing_regions(program), set(program.host_speeds))
    changed = sensitivities(program, machine, placement, instances, parameters, makespan, engine, progress)
    return Explanation(makespan, done.path, efficiencies, changed, done.sites)
