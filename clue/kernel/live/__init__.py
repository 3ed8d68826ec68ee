"""Live execution: programs run in virtual time, call by call, with the same semantics as in a replay.

A rank's ops come from a :class:`Source`, a process that runs the user's program elsewhere, and not from a trace; the
same code executes them (:mod:`clue.kernel.reference`). This package adds what only a running program needs: messages
that carry data, receives that take the first message to arrive, tests that find nothing, and answers to calls.
:mod:`clue.trace.calls` defines the calls and their answers; nothing here starts a process.
"""

from clue.kernel.live.execute import Execution, execute
from clue.kernel.live.source import BurstRule, Source, Spawner

__all__ = ["BurstRule", "Execution", "Source", "Spawner", "execute"]
