"""Programs that decide by arrival order: they run live in virtual time, with the bursts of a recording.

A trace contains the distribution of work of the recording. On other processors the distribution would have been
different, so the program runs live on the machine. Its bursts are taken from the recording, matched by kind of call:
bursts measured in a live run would depend on this computer's present state, with another rank's data in its caches.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Sequence
from itertools import cycle
from pathlib import Path

from benchmarks.accuracy.validate.sections import section
from clue.execution import run
from clue.kernel.live.polls import POLLS
from clue.machine import Machine, Placement
from clue.trace import Op, Trace
from clue.trace.calls import Call

#: Calls that look for messages. A recording names them by what they found, a live call by what it asks for.
_LOOKS = POLLS | {Op.PROBE, Op.MPROBE}


class LikeCalls:
    """Bursts of a section, each matched to the kind of call that it precedes; after the last comes the first again.

    Calls that do not occur in the section are outside it, and take no time.
    """

    rate = None

    def __init__(self, recorded: Trace) -> None:
        bursts: dict[tuple[int, int], list[int]] = defaultdict(list)
        for rank in range(recorded.ranks):
            ops = recorded.rank(rank)
            for op, cpu in zip(ops.op.tolist(), ops.cpu.tolist(), strict=True):
                bursts[rank, _kind(op)].append(cpu)
        self._bursts = {kind: cycle(each) for kind, each in bursts.items()}

    def burst(self, rank: int, index: int, call: Call) -> int:  # noqa: ARG002 - it is the kind that counts
        """Return the next burst before a call of this kind; the last one precedes the barrier that ends the section."""
        op = Op.COMPUTE if call.op == Op.BARRIER else call.op
        return next(self._bursts.get((rank, _kind(op)), cycle([0])))


def _kind(op: int) -> int:
    return int(Op.POLL) if op in _LOOKS else op


def live_section(command: Sequence[str], recorded: Trace, machine: Machine) -> Trace:
    """Return the section of a program as it runs live on a machine.

    Args:
        command: The program and its arguments.
        recorded: The recorded section.
        machine: The machine, with ranks in blocks.
    """
    placement = Placement.block(machine, recorded.ranks)
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
        outcome = run(
            command,
            recorded.ranks,
            machine,
            placement,
            record=True,
            bursts=LikeCalls(recorded),
            stdout=nowhere.fileno(),
        )
    assert outcome.trace is not None
    return section(outcome.trace)
