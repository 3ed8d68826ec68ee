"""The times of calls and of their messages, noted from outside the ranks if a simulation requests them.

A rank takes the next op when the previous one is done, and looks up its handler in a table. The ops and the table are
both passed to it, so both can note the time; mailboxes see every message and every receive. A simulation that does not
request these times pays nothing for them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain

import numpy as np
import numpy.typing as npt

from clue.kernel.model.program import Program, Row
from clue.kernel.reference.actor import Events
from clue.kernel.reference.matching import Channel, Mailboxes, Message, Receive
from clue.kernel.reference.rank import HANDLERS, Handler, Rank
from clue.result import MESSAGE, Calls
from clue.trace import Flag, Op


class NotingMailboxes(Mailboxes):
    """Mailboxes that keep the messages and receives of ops in each rank's order, without those of collectives.

    Attributes:
        sent: Messages by sender.
        posted: Receives by receiver.
    """

    def __init__(self) -> None:
        super().__init__()
        self.sent: defaultdict[int, list[Message]] = defaultdict(list)
        self.posted: defaultdict[int, list[Receive]] = defaultdict(list)

    def deliver(self, channel: Channel, message: Message) -> Receive | None:
        """Keep a message and match it."""
        if _is_of_an_op(channel):
            self.sent[channel[1]].append(message)
        return super().deliver(channel, message)

    def post(self, channel: Channel, receive: Receive) -> Message | None:
        """Keep a receive and match it."""
        if _is_of_an_op(channel):
            self.posted[channel[2]].append(receive)
        return super().post(channel, receive)


def _is_of_an_op(channel: Channel) -> bool:
    """Tell whether a channel's messages belong to ops: collectives have tags below 0."""
    return channel[3] >= 0


class CallTimes:
    """Notes the times at which each op's call begins and ends.

    Args:
        program: What runs.
        ranks: Number of ranks of all its instances.
    """

    def __init__(self, program: Program, ranks: int) -> None:
        self._program = program
        self._begins: list[list[float]] = [[] for _ in range(ranks)]
        self._ends: list[list[float]] = [[] for _ in range(ranks)]
        self._meaning = [self._noting(handler) for handler in HANDLERS]

    def run(self, rank: Rank) -> Events:
        """Let a rank do its ops, and note the times."""
        return rank.run(self._ops(rank), self._meaning)

    def _noting(self, handler: Handler) -> Handler:
        begins = self._begins

        def note_and_do(rank: Rank, row: Row) -> Events | None:
            begins[rank.number].append(rank.clock)
            return handler(rank, row)

        return note_and_do

    def _ops(self, rank: Rank) -> Iterator[Row]:
        ends = self._ends[rank.number]
        for row in self._program.rows[rank.rank]:
            yield row
            ends.append(rank.clock)

    def calls(self, mailboxes: Sequence[Mailboxes]) -> Calls:
        """Return the times, once all ranks are done, with the messages of all instances."""
        noted = (each for each in mailboxes if isinstance(each, NotingMailboxes))
        messages = [self._messages(each, i * self._program.ops) for i, each in enumerate(noted)]
        begins, ends = (np.fromiter(chain.from_iterable(each), np.float64) for each in (self._begins, self._ends))
        return Calls(begins, ends, np.concatenate(messages))

    def _messages(self, mailboxes: NotingMailboxes, first: int) -> npt.NDArray[np.void]:
        """Return the messages of an instance whose rows begin at ``first``.

        A rank's messages and receives were kept in the order of its rows; their order therefore gives their rows.
        """
        program, ops = self._program, self._program.columns
        moves = program.peers >= 0
        sends = np.flatnonzero(moves & ops.are(Op.SEND, Op.ISEND))
        cancelled = ops.are(Op.RECV, Op.IRECV) & (ops.flags & Flag.CANCELLED != 0)
        posts = np.flatnonzero(moves & ops.are(Op.RECV, Op.IRECV, Op.MPROBE) & ~cancelled)
        sent = [each for rank in range(program.ranks) for each in mailboxes.sent[rank]]
        posted = [each for rank in range(program.ranks) for each in mailboxes.posted[rank]]
        rows = {id(each): first + row for each, row in zip(posted, posts.tolist(), strict=True)}
        entries = [
            (
                first + row,
                rows.get(id(each.receive), -1),
                each.leaves,
                np.nan if each.arrival is None else each.arrival,
            )
            for each, row in zip(sent, sends.tolist(), strict=True)
        ]
        return np.array(entries, MESSAGE)
