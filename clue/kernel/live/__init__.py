"""Live execution: programs that run in virtual time, one call after the other, with the meaning that a replay gives.

A rank's ops come from a :class:`Source`, a process that runs the user's program elsewhere, and not from a trace; the
same code gives them meaning (:mod:`clue.kernel.reference`). This package has what only a running program needs:
messages that carry data, receives that take the first message to arrive, tests that find nothing, answers.
:mod:`clue.trace.calls` defines the calls and their answers; nothing here starts a process.
"""

from clue.kernel.live.execute import Execution, execute
from clue.kernel.live.source import BurstRule, Reply, Source, Spawner

__all__ = ["BurstRule", "Execution", "Reply", "Source", "Spawner", "execute"]
