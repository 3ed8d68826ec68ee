"""The simulation: a trace, a machine and a placement go in, a result comes out."""

from clue.kernel.engines import ENGINES, engine_for, is_awaited, reason_for
from clue.kernel.makespans import contention_free, makespans
from clue.kernel.model.bounds import ComputationBounds, computation_bound
from clue.kernel.model.bursts import with_bursts
from clue.kernel.model.candidate import Candidate
from clue.kernel.model.loops import LoopBursts, LoopedProgram, Pool
from clue.kernel.model.program import Description, HostSpeed, Program, compile_program, describe, partners
from clue.kernel.model.together import Job, together
from clue.kernel.simulate import place, simulate, simulate_loops

__all__ = [
    "ENGINES",
    "Candidate",
    "ComputationBounds",
    "Description",
    "HostSpeed",
    "Job",
    "LoopBursts",
    "LoopedProgram",
    "Pool",
    "Program",
    "compile_program",
    "computation_bound",
    "contention_free",
    "describe",
    "engine_for",
    "is_awaited",
    "makespans",
    "partners",
    "place",
    "reason_for",
    "simulate",
    "simulate_loops",
    "together",
    "with_bursts",
]
