"""Virtual machines: the components of a cluster that exists only on paper."""

from clue.machine.cold_start import ColdStart
from clue.machine.contention import Contention, FactorTable, Flows, NoContention, Ports
from clue.machine.curve import Curve
from clue.machine.link import Link, LinkNoise, Rendezvous
from clue.machine.machine import (
    MOST_RANKS,
    NO_WITHIN_NODE,
    AlgorithmChoice,
    Machine,
    Network,
    NodeNoise,
    NodeType,
    Parameter,
    Place,
    Placement,
    Progress,
    Waiting,
)
from clue.machine.memory import memory_fault
from clue.machine.parts import BENCHMARKS, Figure, NetworkPart, Part, Processor, Sockets, Switch
from clue.machine.speed import SpeedCurve

__all__ = [
    "BENCHMARKS",
    "MOST_RANKS",
    "NO_WITHIN_NODE",
    "AlgorithmChoice",
    "ColdStart",
    "Contention",
    "Curve",
    "FactorTable",
    "Figure",
    "Flows",
    "Link",
    "LinkNoise",
    "Machine",
    "Network",
    "NetworkPart",
    "NoContention",
    "NodeNoise",
    "NodeType",
    "Parameter",
    "Part",
    "Place",
    "Placement",
    "Ports",
    "Processor",
    "Progress",
    "Rendezvous",
    "Sockets",
    "SpeedCurve",
    "Switch",
    "Waiting",
    "memory_fault",
]
