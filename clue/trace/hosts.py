"""The best speed of this computer in any recording, cached so that all recordings refer to the same speed.

A recording made while other processes slow down the host all the time never shows its best speed. So the best of all
recordings and live runs made here is kept in the cache, by host, processor and timed work, and written into the head of
each new recording.

::

    hosts/vm-0d5f…        [core, memory]: best times of the pieces of clue.trace.speed, seconds
"""

from __future__ import annotations

import hashlib
import json
import os
import socket
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

from clue.cache import Folder, home, open_folder
from clue.errors import CacheError, TraceError
from clue.trace import Trace
from clue.trace.computer import processor_name
from clue.trace.form import parse, read
from clue.trace.head import Head, Probe
from clue.trace.pieces import PIECES, timed_work

#: Its folder in the cache.
FOLDER = "hosts"
_LONGEST = 4096


def with_best(trace: Trace) -> Head:
    """Return the head of a recording made here, with the best speed of this and earlier recordings.

    If the cache is refused, it has the best speed of the recording itself, and a note says so.
    """
    head, probe = trace.head, trace.head.probe
    if probe is None or not any(probe.best):
        return head
    try:
        best = best_of_hosts({each.host for each in head.rank_heads}, head.processor, probe.work, probe.best)
    except CacheError as error:
        why = f"bursts are relative to the best that this recording shows of its host: {error}"
        return replace(head, notes=(*head.notes, why))
    return replace(head, probe=replace(probe, best=best))


def best_here(own: tuple[float, float] = (0.0, 0.0)) -> tuple[float, float]:
    """Return the best times of the pieces on this computer, seconds; 0: unknown.

    Args:
        own: Best times in a new run, which are cached if they are better than the cached ones.

    Raises:
        CacheError: If the cache is refused.
    """
    return best_of_hosts({socket.gethostname()}, processor_name(), timed_work(), own)


def best_of_hosts(hosts: Collection[str], processor: str, work: str, own: tuple[float, float]) -> tuple[float, float]:
    """Return the best times of the pieces on computers, as :func:`best_here`.

    Args:
        hosts: Their names.
        processor: Model name of their processor.
        work: The work that is timed.
        own: Best times in a new recording.

    Raises:
        CacheError: If the cache is refused.
    """
    with open_folder(home() / FOLDER) as folder:
        name = _name(sorted(hosts), processor, work)
        known = _known(folder, name)
        core, memory = (_less(new, earlier) for new, earlier in zip(own, known, strict=True))
        if (core, memory) != known:
            folder.keep(name, lambda path: Path(path).write_text(json.dumps([core, memory])))
        return core, memory


def _name(hosts: Sequence[str], processor: str, work: str) -> str:
    plain = "".join(letter for letter in hosts[0] if letter.isalnum())[:32]
    return f"{plain}-{hashlib.sha256(chr(0).join((*hosts, processor, work)).encode()).hexdigest()[:16]}"


def _less(one: float, other: float) -> float:
    return min(one, other) if one and other else one or other


def _known(folder: Folder, name: str) -> tuple[float, float]:
    """Return the cached best times, 0 if there are none."""
    descriptor = folder.sound(name)
    if descriptor is None:
        return 0.0, 0.0
    with os.fdopen(descriptor, "rb") as file:
        try:
            kept = read(Probe, {"work": "", "offsets": [], "best": parse(file.read(_LONGEST), name)}, name)
        except TraceError:
            return 0.0, 0.0
    assert len(kept.best) == len(PIECES), "its form says so"
    return kept.best
