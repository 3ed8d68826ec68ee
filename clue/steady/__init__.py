"""Sampled simulation of long programs: a stratified sample of steady iterations is simulated, the rest is estimated.

Iterations are found by the loops around call sites (:mod:`.iterations`) or, in a trace without call sites, by folding
it into loops (:mod:`.folded`). A program may be cut between two iterations if no rank has an operation under way
(:mod:`.cuts`). The similarity of iterations (:mod:`.steadiness`) decides which to simulate (:mod:`.plan`). They are
joined into short programs (:mod:`.excerpt`), whose times give an estimate of the makespan with an interval
(:mod:`.estimate`).
"""

from clue.steady.estimate import Estimate
from clue.steady.plan import UnsteadyError
from clue.steady.simulate import Sample, Steady, sample_of, simulate_part, simulate_sampled

__all__ = ["Estimate", "Sample", "Steady", "UnsteadyError", "sample_of", "simulate_part", "simulate_sampled"]
