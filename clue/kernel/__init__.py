"""The simulation: a trace, a machine and a placement go in, a result comes out."""

from clue.kernel.bounds import computation_bound
from clue.kernel.bursts import with_bursts
from clue.kernel.engines import ENGINES, engine_choice
from clue.kernel.program import Program, compile_program
from clue.kernel.simulate import simulate
from clue.kernel.sweep import Candidate, contention_free

__all__ = [
    "ENGINES",
    "Candidate",
    "Program",
    "compile_program",
    "computation_bound",
    "contention_free",
    "engine_choice",
    "simulate",
    "with_bursts",
]
