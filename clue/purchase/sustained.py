"""NERSC's metrics of a system for a set of applications: SSP and SSI.

**Sustained system performance** (W. Kramer, J. Shalf, E. Strohmaier, *The NERSC Sustained System Performance (SSP)
Metric*, LBNL-58868, 2005; as used for NERSC-8, nersc.gov/systems/trinity-nersc-8-rfp): the nodes N of the system times
the geometric mean of the rates per node, with the operations f of an application counted once, on a reference system,
whatever a system really executes:

    SSP = N · (Π P_i^w_i)^(1 / Σ w_i),   P_i = f_i / (n_i · t_i)

**Scalable system improvement** (*Scalable System Improvement (SSI): An Application Performance Benchmarking Metric for
HPC*, Crossroads and NERSC-9, nersc.gov/research-and-development/apex/apex-benchmarks/ssi), a weighted geometric mean
relative to a reference system:

    SSI = (Π (c_i · U_i · S_i)^w_i)^(1 / Σ w_i),   U = (n_ref / n) · (N / N_ref),   S = t_ref / t

N is the number of nodes of a system, n the number that an application uses, t its run time, c the size of its problem
relative to that on the reference system, w its weight. NERSC sets all weights of an SSP to 1, and requires S ≥ 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Reference:
    """A workload's run on the reference system.

    Attributes:
        nodes: Nodes that it uses there.
        seconds: Its run time there, seconds.
        capability: Size of its problem in the comparison divided by the size there.
    """

    nodes: int
    seconds: float
    capability: float = 1.0


@dataclass(frozen=True, slots=True)
class ReferenceSystem:
    """The reference system of the SSI.

    Attributes:
        nodes: Its number of nodes.
        workloads: The run of each workload.
    """

    nodes: int
    workloads: Mapping[str, Reference]


def rate_per_node(operations: float, nodes: int, seconds: float) -> float:
    """Return the operations of a run per second and node; infinite if it takes no time."""
    return operations / (nodes * seconds) if seconds > 0 else math.inf


def improvement(reference: Reference, system: ReferenceSystem, size: int, nodes: int, seconds: float) -> float:
    """Return c · U · S of a workload on a system with ``size`` nodes that runs it on ``nodes`` nodes in ``seconds``."""
    utilisation = (reference.nodes / nodes) * (size / system.nodes)
    return reference.capability * utilisation * (reference.seconds / seconds if seconds > 0 else math.inf)


def geometric_mean(figures: Iterable[tuple[float, float]]) -> float:
    """Return the weighted geometric mean of pairs (figure, weight); those of weight 0 do not count."""
    counted = [(figure, weight) for figure, weight in figures if weight > 0]
    total = sum(weight for _, weight in counted)
    if any(figure == 0 for figure, _ in counted):
        return 0.0
    return math.exp(sum(weight * math.log(figure) for figure, weight in counted) / total)
