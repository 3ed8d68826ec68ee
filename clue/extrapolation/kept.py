"""Cache of extrapolated traces, by the content of their recordings and of the code that makes them.

::

    extrapolated/cg-20000-512-0d5f…/            one family at one target
                     facts.json                 description for readers of the cache
                     cg-20000-512-0d5f….clue    the trace; repeats that show the uncertainty: .2.clue, .3.clue
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from clue.cache import MARK, Folder, close_to_others, home, open_folder, short, unsafe_within
from clue.errors import CacheError, OutputError, TraceError
from clue.extrapolation.family import Family
from clue.extrapolation.making import Extrapolation, extrapolate
from clue.progress import Progress, silent
from clue.trace import Trace
from clue.trace.place import numbered
from clue.units import count_of

#: Folder in the cache.
FOLDER = "extrapolated"
_ROOT = Path(__file__).parents[1]
#: Packages, and suffixes of files in them, whose code determines the traces; the last two, the bursts of recordings.
_MAKERS, _CODE = ("extrapolation", "structure", "models", "trace", "uncertainty"), {".py", ".cpp", ".hpp"}


def kept_extrapolation(
    pattern: str, size: int, ranks: int, progress: Progress = silent, distributions: Sequence[str] = ()
) -> tuple[Trace, ...]:
    """Return the trace of a program at a size and a number of ranks, and its repeats, from the cache if possible.

    Raises:
        UsageError: As :func:`extrapolate`.
        TraceError: The same.
        RefusedError: The same.
        TooLongError: The same.
        CacheError: If the cache is refused, or cannot be written.
    """
    family = Family.open(pattern)
    recorded = family.at(size, ranks)
    if recorded is not None:
        return recorded.traces
    title = f"{Path(family.program).name} at size {size} on {count_of(ranks)}"
    name = f"{short(Path(family.program).stem)}-{size}-{ranks}-{_key(family, size, ranks, distributions)}"
    with open_folder(home() / FOLDER) as folder:
        path = folder.path / name
        found = _opened(path)
        if not found:
            with folder.lock(name, lambda who: progress(f"waiting for {who}, which extrapolates {title}", 0, 0)):
                found = _opened(path)
                if not found:
                    progress(f"extrapolating {title}", 0, 0)
                    made = extrapolate(family, size=size, ranks=ranks, distributions=distributions, progress=progress)
                    _keep(made, title, folder, name)
                    found = _opened(path)
    if not found:
        raise CacheError(f"{path}: trace must be what was just made, got another")
    return found


def _keep(made: Extrapolation, title: str, folder: Folder, name: str) -> None:
    path = folder.path / name
    with folder.draft(name) as draft:
        new = draft / name
        try:
            new.mkdir()
            made.save(new / f"{name}.clue")
            facts = {"extrapolated": title, "traces": 1 + len(made.repeats)}
            (new / MARK).write_text(json.dumps(facts) + "\n")
            close_to_others(new)
            if path.exists():
                shutil.rmtree(path)  # it is damaged: a valid trace would have been found
            new.rename(path)
        except (OSError, OutputError) as error:
            raise CacheError(f"{folder.path}: trace must be kept there, got {error}") from None


def _opened(path: Path) -> tuple[Trace, ...]:
    """Open cached traces, unless they are missing or damaged, or others could have changed them."""
    try:
        if unsafe_within(path):
            return ()
        count = int(json.loads((path / MARK).read_text())["traces"])
        return tuple(Trace.open(numbered(path / f"{path.name}.clue", i + 1)) for i in range(count))
    except (OSError, TraceError, ValueError, KeyError, TypeError):
        return ()


def _key(family: Family, size: int, ranks: int, distributions: Sequence[str]) -> str:
    """Return the cache key of a trace made from these recordings: their headers contain checksums of columns."""
    digest = hashlib.sha256(f"{_makers()} {size} {ranks} {sorted(set(distributions))}".encode())
    for each in family.recordings:
        for trace in each.traces:
            digest.update(f"{each.size} {each.ranks}".encode() + trace.head.to_json(Path(trace.name)))
    return digest.hexdigest()[:12]


@cache
def _makers() -> str:
    """Return a hash of the code that makes traces."""
    sources = sorted(path for package in _MAKERS for path in (_ROOT / package).rglob("*") if path.suffix in _CODE)
    return hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()
