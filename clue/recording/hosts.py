"""The best speed of this computer in any recording, cached so that all recordings refer to the same speed.

A recording made while other processes slow down the host all the time never shows its best speed. So the best of all
recordings made here is kept in the cache, by host, processor and timed work, and written into each new head.

::

    hosts/vm-0d5f…        [core, memory]: best times of the pieces of clue.trace.speed, seconds
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import replace
from pathlib import Path

from clue.cache import Folder, home, open_folder
from clue.errors import CacheError, TraceError
from clue.trace import Trace
from clue.trace.form import parse, read
from clue.trace.head import Head, Probe
from clue.trace.pieces import PIECES

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
        with open_folder(home() / FOLDER) as folder:
            best = _best(folder, _name(head), probe)
    except CacheError as error:
        why = f"bursts are relative to the best that this recording shows of its host: {error}"
        return replace(head, notes=(*head.notes, why))
    return replace(head, probe=replace(probe, best=best))


def _name(head: Head) -> str:
    hosts = sorted({each.host for each in head.rank_heads})
    assert head.probe is not None, "only what was timed is compared"
    words = (*hosts, head.processor, head.probe.work)
    plain = "".join(letter for letter in hosts[0] if letter.isalnum())[:32]
    return f"{plain}-{hashlib.sha256(chr(0).join(words).encode()).hexdigest()[:16]}"


def _best(folder: Folder, name: str, probe: Probe) -> tuple[float, float]:
    known = _known(folder, name)
    core, memory = (_less(own, earlier) for own, earlier in zip(probe.best, known, strict=True))
    if (core, memory) != known:
        folder.keep(name, lambda path: Path(path).write_text(json.dumps([core, memory])))
    return core, memory


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
