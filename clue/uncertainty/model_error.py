"""What predictions of a kind have been off by where they were validated, and what that says of further ones.

The logarithm of measured / predicted of a program p on a machine m is taken as S(p) + C(p, m): a part that the program
has on all machines (a recording that is off, a phase that the model leaves out), and one of each case. Machines that
are compared for one program share S, so their order depends on C alone; the interval of a prediction holds both. C is
wider for some kinds of cases: by the share of communication in what is predicted, and by the size of messages.

The parts are components of variance with random effects (S. R. Searle, G. Casella, C. E. McCulloch, Variance
Components, 1992, ch. 3), here about 0, not about their mean: an error that all predictions have in common makes
intervals wider. A deviation that few cases say is uncertain itself, so the next error is drawn from Student's t with as
many degrees of freedom as there are behind it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from clue.kernel import Candidate, Program, computation_bound
from clue.machine import Machine, NodeNoise
from clue.trace import COLLECTIVES, Op, Ops
from clue.uncertainty.noise import Sampling, within_reach
from clue.uncertainty.spread import TAIL

#: From here on a share of communication, and a mean message in bytes, are of another kind.
SHARES, MESSAGES = (0.1, 0.5), (4096.0,)


@dataclass(frozen=True, slots=True)
class Character:
    """What predictions are told apart by.

    Attributes:
        communication: The share of the makespan that the rank that computes longest does not compute, 0 to 1.
        message: Mean size of the messages that the program names, bytes.
    """

    communication: float
    message: float

    @classmethod
    def of(cls, program: Program, where: Candidate, makespan: float) -> Character:
        """Return what tells a prediction from others."""
        computing = computation_bound(program, where.machine, where.placement)
        share = 1 - computing / makespan if makespan > 0 else 0.0
        return cls(min(max(share, 0.0), 1.0), mean_message(program.columns))


def mean_message(ops: Ops) -> float:
    """Return the mean size that a program names where it sends something, by itself or in a collective; bytes."""
    sizes = np.asarray(ops.nbytes)[np.isin(ops.op, _SENDING)]
    sizes = sizes[sizes > 0]
    return float(sizes.mean()) if len(sizes) else 0.0


_SENDING = (Op.SEND, Op.ISEND, *(COLLECTIVES - {Op.COMM}))


@dataclass(frozen=True, slots=True)
class Scatter:
    """How far something is from 0: Student's t.

    Attributes:
        deviation: The scale of it, of a natural logarithm.
        degrees: Degrees of freedom: how much stands behind the deviation.
    """

    deviation: float
    degrees: float

    def draw(self, generator: np.random.Generator) -> float:
        """Return a draw."""
        drawn = student(float(generator.standard_normal()), self.degrees)
        return self.deviation * within_reach(drawn)


@dataclass(frozen=True, slots=True)
class Kind:
    """Cases of one kind.

    Attributes:
        communication: From which share of communication up to which, the end not included.
        message: The same of mean messages, bytes; the last kind's end is infinite.
        cases: How many were validated.
        scatter: Of the part of the error that each case has.
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
    """The error that is to be expected of one prediction.

    Attributes:
        shared: The part that its program has on all machines.
        own: The part of the case.
        alike: How many validated cases are of its kind.
    """

    shared: Scatter
    own: Scatter
    alike: int

    @property
    def total(self) -> Scatter:
        """Both parts together, with the degrees of freedom of F. E. Satterthwaite, Biometrics Bulletin 2 (1946)."""
        variances = [each.deviation**2 for each in (self.shared, self.own)]
        total = sum(variances)
        behind = sum(v * v / each.degrees for v, each in zip(variances, (self.shared, self.own), strict=True))
        return Scatter(math.sqrt(total), total * total / behind if behind else math.inf)

    @property
    def reach(self) -> float:
        """How far the logarithm is off in four of five cases at most."""
        total = self.total
        return total.deviation * student(TAIL, total.degrees)

    def multipliers(self, sampling: Sampling, program: str, machine: Machine) -> npt.NDArray[np.float64]:
        """Return what a makespan is multiplied by in each sample, shape (samples,).

        The one part is drawn for the program, the other for program and model of machine: options that differ only in
        the number of nodes have it in common.
        """
        model = model_of(machine)
        return np.exp(
            [
                self.shared.draw(sample.generator("model error", program))
                + self.own.draw(sample.generator("model error", program, *model))
                for sample in sampling.each()
            ]
        )


@dataclass(frozen=True, slots=True)
class ModelError:
    """What validation says of the errors of predictions.

    Attributes:
        source: Where the cases come from.
        date: When they were learned from, as ISO 8601 has it.
        cases: How many there are.
        programs: Of how many programs.
        shared: The part that a program has on all machines.
        kinds: Of each kind of cases; together they hold any case.
    """

    source: str
    date: str
    cases: int
    programs: int
    shared: Scatter
    kinds: tuple[Kind, ...]

    def of(self, character: Character | None) -> Expected:
        """Return what is to be expected of a prediction; of one that nothing is known of, the worst of all kinds."""
        kinds = self.kinds if character is None else [each for each in self.kinds if each.has(character)]
        worst = max(kinds, key=lambda each: Expected(self.shared, each.scatter, each.cases).reach)
        return Expected(self.shared, worst.scatter, worst.cases)

    @property
    def most(self) -> float:
        """The deviation of a normal variable whose 10th percentile no expected error's is below."""
        return self.of(None).reach / TAIL

    def in_words(self, expected: Expected) -> str:
        """Say what is to be expected, and what that rests on."""
        return (
            f"± {math.expm1(expected.reach):.1%} by the model's errors in {self.cases} validated cases, "
            f"{expected.alike} of this kind ({self.source}, {self.date})"
        )


def intervals(edges: tuple[float, ...], end: float) -> Iterator[tuple[float, float]]:
    """Yield what lies between 0, some edges, and an end."""
    yield from zip((0.0, *edges), (*edges, end), strict=True)


def model_of(machine: Machine) -> tuple[str, ...]:
    """Return what tells models of machines apart: figures of node types and network, no numbers of nodes, no names."""
    types = {
        repr(replace(each, name="", source="", price=None, noise=NodeNoise())) for each in machine.node_types().values()
    }
    return (*sorted(types), repr(machine.network))


def student(x: float, degrees: float) -> float:
    """Return the quantile of Student's t that x is of the normal distribution; so a normal variable becomes one of t.

    The expansion in 1 / degrees of M. Abramowitz, I. A. Stegun, Handbook of Mathematical Functions (1964), 26.7.5; four
    terms: at 90 %, below 0.1 % off from 3 degrees of freedom on.
    """
    terms = (
        (x**3 + x) / 4,
        (5 * x**5 + 16 * x**3 + 3 * x) / 96,
        (3 * x**7 + 19 * x**5 + 17 * x**3 - 15 * x) / 384,
        (79 * x**9 + 776 * x**7 + 1482 * x**5 - 1920 * x**3 - 945 * x) / 92160,
    )
    return x + sum(term / degrees**power for power, term in enumerate(terms, start=1))
