"""Model error: errors of validated predictions by kind, and the expected error of further predictions.

For a program p on a machine m, the logarithm of measured / predicted is modelled as S(p) + C(p, m): a part that the
program has on all machines (a biased recording, a phase that the model leaves out), and a part of each case. Machines
that are compared for one program share S, so their order depends only on C; the interval of a prediction includes both.
C is wider for some kinds of cases: kinds differ in the predicted share of communication and the size of messages.
Machines on which all predictions are the same are one machine m.

The parts are components of variance with random effects (S. R. Searle, G. Casella, C. E. McCulloch, Variance
Components, 1992, ch. 3), here about 0 rather than their mean, so that a bias of all predictions makes intervals wider.
A deviation estimated from few cases is itself uncertain, so the next error is drawn from Student's t with the degrees
of freedom of this estimate.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from clue.kernel import Candidate, Program, computation_bound
from clue.kernel.model.costs import places_in_use
from clue.machine import Machine, NodeNoise
from clue.trace import COLLECTIVES, PROC_NULL, Op, Ops
from clue.uncertainty.noise import Sampling, within_reach
from clue.uncertainty.spread import TAIL
from clue.units import count_of

#: Boundaries between kinds: shares of communication, and mean message sizes, bytes.
SHARES, MESSAGES = (0.1, 0.5), (4096.0,)
#: Largest deviation: a factor of e^10 = 22,026. Larger errors are mistakes, such as times in another unit.
LARGEST = 10


@dataclass(frozen=True, slots=True)
class Character:
    """Features of a prediction that decide its kind.

    Attributes:
        communication: Share of the makespan in which the rank with the most computation does not compute, 0 to 1.
        message: Mean size of messages in the program's calls, bytes.
    """

    communication: float
    message: float

    @classmethod
    def of(cls, program: Program, where: Candidate, makespan: float) -> Character:
        """Return the character of a prediction."""
        share = 1 - _computing(program, where, makespan) / makespan if makespan > 0 else 0.0
        return cls(min(max(share, 0.0), 1.0), mean_message(program.columns))


def _computing(program: Program, where: Candidate, makespan: float) -> float:
    """Return the time of the rank that computes longest, seconds.

    On a machine that changes, it computes at the mean of the speeds that the machine has during the makespan.
    """
    machine = where.machine
    seconds = [computation_bound(program, replace(each, changes=()), where.placement) for each in machine.epochs]
    if min(seconds) <= 0:
        return 0.0
    begins = [0.0, *(min(at, makespan) for at, _ in machine.changes), makespan]
    return makespan / sum((end - begin) / each for (begin, end), each in zip(pairwise(begins), seconds, strict=True))


def mean_message(ops: Ops) -> float:
    """Return the mean size in a program's sending calls, point-to-point or collective, bytes; without null partners."""
    to_nobody = ops.are(Op.SEND, Op.ISEND) & (ops.peer == PROC_NULL)
    sizes = np.asarray(ops.nbytes)[ops.are(*_SENDING) & ~to_nobody]
    sizes = sizes[sizes > 0]
    return float(sizes.mean()) if len(sizes) else 0.0


_SENDING = (Op.SEND, Op.ISEND, Op.RMA, *(COLLECTIVES - {Op.COMM}))


@dataclass(frozen=True, slots=True)
class Scatter:
    """A scatter about 0: Student's t.

    Attributes:
        deviation: Its scale, as a natural logarithm.
        degrees: Degrees of freedom of the deviation's estimate.
    """

    deviation: float
    degrees: float

    @classmethod
    def of_sum(cls, parts: Iterable[Scatter]) -> Scatter:
        """Return the scatter of a sum; degrees of freedom by F. E. Satterthwaite, Biometrics Bulletin 2 (1946)."""
        variances = [(each.deviation**2, each.degrees) for each in parts]
        total = sum(variance for variance, _ in variances)
        behind = sum(variance * variance / degrees for variance, degrees in variances)
        return cls(math.sqrt(total), total * total / behind if behind else math.inf)

    @property
    def reach(self) -> float:
        """Its bound in four of five cases."""
        return self.deviation * student(TAIL, self.degrees)

    def times(self, factor: float) -> Scatter:
        """Return the scatter of a multiple."""
        return replace(self, deviation=self.deviation * factor)

    def draw(self, generator: np.random.Generator) -> float:
        """Return a draw."""
        drawn = student(float(generator.standard_normal()), self.degrees)
        return self.deviation * within_reach(drawn)


@dataclass(frozen=True, slots=True)
class Kind:
    """Cases of one kind.

    Attributes:
        communication: Range of the share of communication, end excluded.
        message: Range of the mean message size, bytes, end excluded; infinite for the last kind.
        cases: Number of validated cases.
        scatter: Scatter of the case's part of the error.
    """

    communication: tuple[float, float]
    message: tuple[float, float]
    cases: int
    scatter: Scatter

    def has(self, character: Character) -> bool:
        """Tell whether a case is of this kind."""
        (least, most), (small, large) = self.communication, self.message
        return least <= character.communication < most and small <= character.message < large


@dataclass(frozen=True, slots=True)
class Expected:
    """Expected error of a prediction.

    Attributes:
        shared: The part that its program has on all machines.
        own: The part of the case.
        alike: Number of validated cases of its kind.
    """

    shared: Scatter
    own: Scatter
    alike: int

    @property
    def total(self) -> Scatter:
        """Both parts together."""
        return Scatter.of_sum((self.shared, self.own))

    @property
    def reach(self) -> float:
        """Bound of the logarithm's error in four of five cases."""
        return self.total.reach

    def beyond(self, noise: float) -> Expected:
        """Return the part that noise does not explain, so that variances of noise and this part add up to the whole.

        Validated cases were predicted from recordings and calibrations, too, so their errors contain such noise. If
        there is more noise than that, no part remains.

        Args:
            noise: Bound of the noise's logarithm in four of five cases.
        """
        left = math.sqrt(1 - (noise / self.reach) ** 2) if noise < self.reach else 0.0
        return replace(self, shared=self.shared.times(left), own=self.own.times(left))

    def multipliers(self, sampling: Sampling, program: str, where: Candidate) -> npt.NDArray[np.float64]:
        """Return the factor of a makespan in each sample, shape (samples,).

        The shared part is drawn for the program, the other part for program and machine model: options that differ
        only in the number of nodes have it in common, as long as messages take the same links.
        """
        model = model_of(where)
        return np.exp(
            [
                self.shared.draw(sample.generator("model error", program))
                + self.own.draw(sample.generator("model error", program, *model))
                for sample in sampling.each()
            ]
        )


@dataclass(frozen=True, slots=True)
class ModelError:
    """Errors of predictions, learned from validation.

    Attributes:
        source: Source of the cases.
        date: Date of learning, ISO 8601.
        cases: Number of cases.
        programs: Number of programs.
        shared: Part that a program has on all machines.
        kinds: Kinds of cases; together they cover every case.
    """

    source: str
    date: str
    cases: int
    programs: int
    shared: Scatter
    kinds: tuple[Kind, ...]

    def of(self, character: Character | None) -> Expected:
        """Return the expected error of a prediction; if its character is unknown, that of the worst kind."""
        kinds = self.kinds if character is None else [each for each in self.kinds if each.has(character)]
        worst = max(kinds, key=lambda each: Expected(self.shared, each.scatter, each.cases).reach)
        return Expected(self.shared, worst.scatter, worst.cases)

    @property
    def most(self) -> float:
        """Deviation of a normal variable whose 10th percentile does not exceed that of any expected error."""
        return self.of(None).reach / TAIL

    def in_words(self, expected: Expected) -> str:
        """Return the expected error and its basis in words."""
        return (
            f"± {math.expm1(expected.reach):.1%} by the model's errors in {count_of(self.cases, 'validated case')}, "
            f"{expected.alike} of this kind ({self.source}, {self.date})"
        )


def intervals(edges: tuple[float, ...], end: float) -> Iterator[tuple[float, float]]:
    """Yield the intervals between 0, some edges, and an end."""
    yield from zip((0.0, *edges), (*edges, end), strict=True)


def model_of(where: Candidate) -> tuple[str, ...]:
    """Return the key of a machine model: figures of the nodes with ranks and of the links between them, at all times.

    It has no numbers of nodes, names, prices, sizes of memory or noise, no order of regions or links, and no link or
    contention that the program's messages cannot meet: figures on which no predicted time depends.
    """
    later = (part for at, state in where.machine.changes for part in (repr(at), *_figures(state, where)))
    return (*_figures(replace(where.machine, changes=()), where), *later)


def _figures(state: Machine, where: Candidate) -> tuple[str, ...]:
    """Return the figures of a machine between two changes."""
    used = {state.nodes[node].name: state.nodes[node] for node in where.placement.nodes}
    types = {repr(replace(each.timed.in_order, name="", noise=NodeNoise())) for each in used.values()}
    network = state.network.only(places_in_use(state, where.placement, where.instances))
    return (*sorted(types), repr(network.without_noise.in_order))


def student(x: float, degrees: float) -> float:
    """Map a quantile of the normal distribution to that of Student's t with the same probability.

    It uses four terms of the expansion in 1 / degrees of M. Abramowitz, I. A. Stegun, Handbook of Mathematical
    Functions (1964), 26.7.5. At 90 %, the error is below 0.1 % from 3 degrees of freedom on.
    """
    terms = (
        (x**3 + x) / 4,
        (5 * x**5 + 16 * x**3 + 3 * x) / 96,
        (3 * x**7 + 19 * x**5 + 17 * x**3 - 15 * x) / 384,
        (79 * x**9 + 776 * x**7 + 1482 * x**5 - 1920 * x**3 - 945 * x) / 92160,
    )
    return x + sum(term / degrees**power for power, term in enumerate(terms, start=1))
