"""What a program does, in rules: loops of call sites, and exact integer rules in size, ranks, rank and iteration.

::

    nest        in which iteration of which loops each call was made, by the paths of call sites
    alignment   in which iterations ranks act that leave some out
    table       what recordings say of each place
    groups      communicators as rules
    atoms       numbers as programs compute them: shares, grids, owners in turn, neighbours
    pool        atoms and products of them with their values
    forms       what a rule is: sums, conditions, cases
    conditions  which comparisons of atoms hold on which samples
    rules       the lightest rule that fits all samples exactly, or none
    program     a program as rules, learned from recordings
    sizes       sizes that follow no rule, drawn where that is asked for
    generate    every call of every rank at a target
    blocks      the same of a long program: what is alike in all iterations of a loop is made once
    deciding    which recording decides between rules that differ at a target
    graph       sequences, loops and what ranks do side by side, with every computation and call
    samples     the size that explains how bursts differ
"""

from clue.structure.blocks import Blocks, Stretch, Varying, blocks, count_ops, looks_at_iteration, stretches
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
    "blocks",
    "count_ops",
    "decided",
    "examples_of",
    "local_size",
    "looks_at_iteration",
    "stretches",
]
