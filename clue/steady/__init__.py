"""Long programs by a part of them: steady iterations are simulated in a stratified sample, the rest by their slope.

The loops around call sites say where iterations begin (:mod:`.iterations`), or the loops that a trace without call
sites folds into (:mod:`.folded`); a program may be cut between two of them
where nothing is under way on any rank (:mod:`.cuts`). What iterations are like (:mod:`.steadiness`) says which to
simulate (:mod:`.plan`), short programs are made of these (:mod:`.excerpt`), and what they take is put together to a
makespan with an interval (:mod:`.estimate`).
"""

from clue.steady.estimate import Estimate
from clue.steady.plan import UnsteadyError
from clue.steady.simulate import Sample, Steady, sample_of, simulate_part, simulate_sampled

__all__ = ["Estimate", "Sample", "Steady", "UnsteadyError", "sample_of", "simulate_part", "simulate_sampled"]
