"""A program as rules: loops of call sites, and exact integer rules in size, number of ranks, rank and iteration.

::

    nest        the loops and iterations in which each call was made, by the paths of call sites
    alignment   the iterations in which a rank takes part, for ranks that skip some
    table       the observations of each place in the recordings
    groups      communicators as rules
    atoms       numbers as programs compute them: shares, grids, cyclic owners, neighbours
    pool        atoms and their products, with values
    forms       the forms of rules: sums, conditions, cases
    conditions  comparisons of atoms, and the samples on which they hold
    rules       the lightest rule that fits all samples exactly, or none
    pickled     exact sizes of pickled objects
    unvaried    numbers that are the same in all recordings, though not at a target
    program     a program as rules, learned from recordings
    sizes       sizes without a rule, drawn from a distribution on request
    generate    every call of every rank at a target
    blocks      the same for a long program: identical iterations of a loop are made once
    deciding    the recording that would decide between rules that differ at a target
    graph       sequences, loops and parallel parts, with all computations and calls
    samples     the local size that explains the differences between bursts
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from clue.first_use import loaded_on_first_use

if TYPE_CHECKING:
    from clue.structure.blocks import Blocks, Stretch, Varying, count_ops, in_blocks, looks_at_iteration, stretches
    from clue.structure.deciding import decided
    from clue.structure.generate import Columns, Generator
    from clue.structure.graph import Graph, Kind, Node, examples_of
    from clue.structure.program import Learner, PartRules, Refusal, Structure
    from clue.structure.samples import LocalSize, local_size
    from clue.structure.table import Example, Tables

__all__ = [
    "Blocks",
    "Columns",
    "Example",
    "Generator",
    "Graph",
    "Kind",
    "Learner",
    "LocalSize",
    "Node",
    "PartRules",
    "Refusal",
    "Stretch",
    "Structure",
    "Tables",
    "Varying",
    "count_ops",
    "decided",
    "examples_of",
    "in_blocks",
    "local_size",
    "looks_at_iteration",
    "stretches",
]

# A replay needs only the loops around calls; rules import models.
_HOMES = {
    "blocks": ("Blocks", "Stretch", "Varying", "count_ops", "in_blocks", "looks_at_iteration", "stretches"),
    "deciding": ("decided",),
    "generate": ("Columns", "Generator"),
    "graph": ("Graph", "Kind", "Node", "examples_of"),
    "program": ("Learner", "PartRules", "Refusal", "Structure"),
    "samples": ("LocalSize", "local_size"),
    "table": ("Example", "Tables"),
}
__getattr__ = loaded_on_first_use(__name__, _HOMES)
