"""The reference engine: the meaning of every op, in SimPy, written to be read.

Each rank is a SimPy process with a clock of its own. It runs ahead of the others as long as nothing they do can
matter to it, and yields only when it must block: for a message that has not been sent, a rendezvous that is still
open, a processor it shares, or - where messages slow each other down - its turn to send. What it waits for becomes
*known* at some point; it then sets its clock and continues. Definitions: docs/pages/model.

This module runs a whole replay. :mod:`.virtual_machine` is the machine in virtual time, where messages meet
receives; :mod:`.actor` defines messages and collectives, :mod:`.rank` the ops, whether recorded or live, and
:mod:`.processors` a burst on a shared node.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from clue.errors import Blocked, DeadlockError
from clue.kernel.model.observation import Observation
from clue.kernel.model.program import Program, ranks_with_wildcards
from clue.kernel.model.replay import Replay
from clue.kernel.model.turns import joined_nodes
from clue.kernel.model.wildcards import count_wildcards
from clue.kernel.reference.actor import Instance
from clue.kernel.reference.calls import CallTimes, NotingMailboxes
from clue.kernel.reference.matching import Mailboxes
from clue.kernel.reference.rank import Rank
from clue.kernel.reference.virtual_machine import VirtualMachine
from clue.machine import Machine, Placement


def replay(program: Program, machine: Machine, placement: Placement, instances: int, seen: Observation) -> Replay:
    """Replay a program on a machine with the reference engine.

    Args:
        program: What runs.
        machine: What it runs on.
        placement: Node of each rank of all instances, instance by instance.
        instances: How many copies run side by side.
        seen: What to collect.

    Raises:
        DeadlockError: If the program deadlocks in virtual time.
    """
    running = VirtualMachine(machine, placement, program.regions, program.host_speeds, seen)
    running.occupy(placement.nodes, joined_nodes(placement, program.worlds))
    times = CallTimes(program, program.ranks * instances) if seen.keeps_calls else None
    mailboxes = Mailboxes if times is None else NotingMailboxes
    copies = [_instance(running, program, i * program.ranks, mailboxes()) for i in range(instances)]
    wild = frozenset(ranks_with_wildcards(program))
    ranks = [
        Rank(running, copy, rank, world, wild=rank in wild)
        for copy in copies
        for rank, world in enumerate(program.worlds)
    ]
    for each in ranks:
        running.env.process(each.run(program.rows[each.rank]) if times is None else times.run(each))
    running.env.run()
    blocked = [Blocked(each.number, each.clock, each.waits_for()) for each in ranks if not each.finished]
    if blocked:
        raise DeadlockError(blocked, program.notes)
    if times is not None:
        seen.calls = times.calls([copy.mailboxes for copy in copies])
    counts = [count_wildcards(each.seen()) for each in ranks if each.received]
    wildcards = sum(otherwise for otherwise, _ in counts), sum(wild for _, wild in counts)
    return outcome("reference", ranks, wildcards, sum(len(copy.mailboxes.left_over()) for copy in copies), seen)


def _instance(running: VirtualMachine, program: Program, first: int, mailboxes: Mailboxes) -> Instance:
    worlds = {world: running.env.event() for world in set(program.worlds) if world}
    return Instance(mailboxes, worlds, program.collectives, first)


def outcome(
    engine: str, ranks: Sequence[Rank], wildcards: tuple[int, int], left_over: int, seen: Observation
) -> Replay:
    """Return the figures of ranks that have finished."""
    return Replay(
        engine=engine,
        finish=np.array([rank.clock for rank in ranks]),
        compute=np.array([rank.compute for rank in ranks]),
        communicate=np.array([rank.communicate for rank in ranks]),
        by_region=np.sum([rank.compute_by_region for rank in ranks], axis=0),
        wildcards=wildcards,
        left_over=left_over,
        seen=seen,
    )
