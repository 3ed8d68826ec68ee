"""Recording a program from outside: starts mpiexec, waits, and opens the trace. This package prints nothing.

::

    launching   mpiexec: its command and environment, watching it, ending it
    single      one recording
    repeated    several recordings, whose typical bursts become those of the trace
    hosts       the best speed of this computer
    facts       dependencies of a recording, and why it may not be used again
    kept        the cache: recordings that exist, and those that have to be made

:mod:`virtual_layer` is the part that runs inside the program's processes.
"""

from clue.recording.facts import Request
from clue.recording.kept import Listed, kept_recordings, recordings_of
from clue.recording.launching import Launch, find_mpiexec
from clue.recording.repeated import Repeated, record_repeatedly
from clue.recording.single import record
from clue.trace.place import repeats_beside

__all__ = [
    "Launch",
    "Listed",
    "Repeated",
    "Request",
    "find_mpiexec",
    "kept_recordings",
    "record",
    "record_repeatedly",
    "recordings_of",
    "repeats_beside",
]
