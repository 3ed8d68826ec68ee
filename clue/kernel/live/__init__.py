"""Live execution: programs that run in virtual time, one call after the other, with the meaning that a replay gives.

A rank's ops come from a :class:`Source` - a process that runs the user's program, elsewhere - and not from a trace;
what they mean is the same code (:mod:`clue.kernel.reference`). Here is what only a running program has: messages that
carry data, receives that take what comes first, tests that find nothing, answers. How calls are told and answered is
:mod:`clue.trace.calls`; nothing here starts a process.
"""

from clue.kernel.live.execute import Execution, execute
from clue.kernel.live.source import BurstRule, Reply, Source, Spawner

__all__ = ["BurstRule", "Execution", "Reply", "Source", "Spawner", "execute"]
