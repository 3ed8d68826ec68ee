"""The cache of recordings: existing ones are used again, and missing ones are made, by one process at a time.

Their programs have an empty standard input, as nothing is known of it when a recording is used again.

::

    traces/jacobi-4-0d5f…/               one program with its arguments on a number of ranks
               facts.json                dependencies of these recordings
               jacobi-4-0d5f….clue       a recording; further recordings of the same run: .2.clue, .3.clue
"""

from __future__ import annotations

import errno
import hashlib
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from clue.cache import MARK, Folder, Item, close_to_others, home, items, open_folder, short, unsafe_within
from clue.errors import CacheError, OutputError, RecordError, TraceError, UsageError
from clue.files import drafts, is_file
from clue.progress import Progress, silent
from clue.recording.facts import Facts, Request, difference, facts_now
from clue.recording.repeated import OFTEN, SHORT, different, disturbed, seconds
from clue.recording.single import record
from clue.trace import Trace
from clue.trace.place import numbered

#: Its folder in the cache.
FOLDER = "traces"
_DAMAGED = "the kept recording is damaged"


@dataclass(frozen=True, slots=True)
class Listed:
    """Recordings as listed in the cache.

    Attributes:
        item: Their path, size and age.
        facts: Their dependencies; ``None`` if these cannot be read.
        recordings: Number of recordings.
    """

    item: Item
    facts: Facts | None
    recordings: int


def kept_recordings() -> list[Listed]:
    """Return the recordings in the cache, by name.

    Raises:
        CacheError: If the cache is refused.
    """
    return [Listed(item, _facts(item.path), _count(item.path)) for item in items(FOLDER)]


@dataclass(frozen=True, slots=True)
class KeptProgram:
    """Cached recordings of one program with its arguments and number of ranks.

    Attributes:
        path: Their folder.
        facts: Their dependencies.
        traces: The recordings, in the order in which they were made.
    """

    path: Path
    facts: Facts
    traces: tuple[Trace, ...]

    @property
    def typical(self) -> tuple[Trace, ...]:
        """The recordings, of those with equal bursts only one; that with the median disturbance comes first."""
        traces = different(sorted(self.traces, key=disturbed))
        middle = traces.pop((len(traces) - 1) // 2)
        return middle, *traces

    def is_enough(self, repeats: int | None) -> bool:
        """Tell whether there are as many recordings as requested."""
        return len(self.traces) >= (repeats or (OFTEN if self._seconds < SHORT else 1))

    @property
    def _seconds(self) -> float:
        return min(map(seconds, self.traces))


def recordings_of(
    requests: Sequence[Request], repeats: int | None = None, progress: Progress = silent
) -> list[tuple[Trace, ...]]:
    """Return the recordings of programs, at least ``repeats`` of each; missing ones are made.

    They are made in turn (all programs once, then all of them again), so that a temporary disturbance of this computer
    affects one recording of each program rather than all recordings of one program. The most typical recording of each
    program comes first.

    Args:
        requests: The requested recordings.
        repeats: Recordings of each program; ``None`` for 3 if a recording takes less than a minute, else 1.
        progress: Callback for progress: what is recorded, why it is recorded again, for which process this one waits.

    Raises:
        UsageError: If a program or an input does not exist.
        RecordError: If a program cannot be recorded.
        CacheError: If the cache is refused, or cannot be written.
    """
    for request in requests:
        request.launch.check()
        for file in request.inputs:
            if not is_file(file):
                raise UsageError(f"{file}: input of {request.launch.program} must be a file that exists, got none")
    with open_folder(home() / FOLDER) as folder:
        kept = _Kept(folder, repeats)
        missing = [request for request in dict.fromkeys(requests) if not kept.has_enough(request)]
        turns = repeats or OFTEN
        for turn in range(turns):
            for i, request in enumerate(missing):
                kept.see_to(request, turn, partial(_tell, progress, turn * len(missing) + i, turns * len(missing)))
        return [kept.found[request].typical for request in requests]


class _Kept:
    """The folder of recordings, as far as it has been read."""

    def __init__(self, folder: Folder, repeats: int | None) -> None:
        self._folder = folder
        self._repeats = repeats
        self.found: dict[Request, KeptProgram] = {}

    def has_enough(self, request: Request) -> bool:
        """Tell whether nothing has to be recorded."""
        entry, _ = self._look(request, facts_now(request))
        if entry is None or not entry.is_enough(self._repeats):
            return False
        self.found[request] = entry
        return True

    def see_to(self, request: Request, turn: int, say: Callable[[str], None]) -> None:
        """Make sure that there are ``turn + 1`` recordings, if that number is requested."""
        now = facts_now(request)
        with self._folder.lock(
            _lock_name(request), lambda who: say(f"waiting for {who}, which records {request.title}")
        ):
            entry, why = self._look(request, now)
            if entry is None and request in self.found:
                return  # its dependencies have changed since the first turn, or are unknown
            if entry is None or (len(entry.traces) <= turn and not entry.is_enough(self._repeats)):
                number = 0 if entry is None else len(entry.traces)
                say(self._what(request, number, why))
                entry = self._record(request, now, entry)
            self.found[request] = entry

    def _what(self, request: Request, number: int, why: str) -> str:
        if number:
            return f"recording {request.title} ({number + 1} of {self._repeats or OFTEN})"
        return f"recording {request.title}" + (f" again: {why}" if why else "")

    def _look(self, request: Request, now: Facts) -> tuple[KeptProgram | None, str]:
        """Return recordings that may be used, or else the reason why existing ones may not."""
        why = ""
        for path in self._candidates(request):
            facts = _facts(path)
            if facts is not None and not facts.same_run(now):
                continue
            fault = _DAMAGED if facts is None else difference(request, facts, now)
            if facts is not None and not fault:
                entry, fault = _opened(path, facts)
                if entry is not None:
                    return entry, ""
            why = why or fault
        return None, why

    def _candidates(self, request: Request) -> list[Path]:
        """Return the folders of recordings with this program name and number of ranks, the newest first."""
        begin = _stem(request) + "-"
        named = [path for path in self._folder.path.iterdir() if path.name.startswith(begin) and path.is_dir()]
        return sorted(named, key=lambda path: path.lstat().st_mtime_ns, reverse=True)

    def _record(self, request: Request, now: Facts, entry: KeptProgram | None) -> KeptProgram:
        launch = request.launch
        with self._folder.draft(_lock_name(request)) as draft:
            target = draft / "new.clue"
            try:
                record(launch.program, launch.arguments, launch.ranks, target, stdin=subprocess.DEVNULL)
            except RecordError as error:
                # The draft is removed, and of several numbers of ranks, only its name would tell which one failed.
                faults = [fault.replace(str(target), request.title) for fault in error.faults]
                raise RecordError(faults, error.refused) from None
            facts = now.with_imports(request, target)
            try:
                if entry is None:
                    path = self._begun(request, target, facts, draft)
                else:
                    path, facts = entry.path, entry.facts.joined(facts)
                    self._add(target, facts, entry)
            except (OSError, OutputError) as error:
                raise CacheError(f"{self._folder.path}: recording must be kept there, got {error}") from None
        found, fault = _opened(path, facts)
        if found is None:
            raise CacheError(f"{path}: recording must be what was just recorded, got {fault}")
        return found

    def _add(self, target: Path, facts: Facts, entry: KeptProgram) -> None:
        close_to_others(target)
        _write(entry.path / MARK, facts)
        _place(target, numbered(entry.path / f"{entry.path.name}.clue", len(entry.traces) + 1))

    def _begun(self, request: Request, target: Path, facts: Facts, draft: Path) -> Path:
        key = hashlib.sha256(facts.to_json().encode()).hexdigest()[:12]
        made = draft / f"{_stem(request)}-{key}"
        made.mkdir()
        _write(made / MARK, facts)
        target.rename(made / f"{made.name}.clue")
        close_to_others(made)
        path = self._folder.path / made.name
        if path.exists():
            shutil.rmtree(path)  # it is unusable: usable recordings would have been found
        _place(made, path)
        return path


def _tell(progress: Progress, done: int, total: int, what: str) -> None:
    progress(what, done, total)


def _opened(path: Path, facts: Facts) -> tuple[KeptProgram | None, str]:
    """Return the recordings in a folder, or else the fault of the folder."""
    try:
        if fault := unsafe_within(path):
            return None, f"the kept recording is {fault}"
        files = [numbered(path / f"{path.name}.clue", i + 1) for i in range(_count(path))]
        traces = tuple(map(Trace.open, files))
    except (OSError, TraceError):
        return None, _DAMAGED
    return (KeptProgram(path, facts, traces), "") if traces else (None, _DAMAGED)


def _facts(path: Path) -> Facts | None:
    try:
        return Facts.from_file(path / MARK)
    except (OSError, TraceError):
        return None


def _count(path: Path) -> int:
    return sum(each.suffix == ".clue" for each in path.iterdir())


def _place(made: Path, where: Path) -> None:
    """Move a folder to its place, unless another process was faster: some file systems have no locks."""
    try:
        made.rename(where)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise


def _write(file: Path, facts: Facts) -> None:
    """Write facts, readable only by this user."""
    with drafts(file) as (draft,):
        draft.touch(mode=0o600)
        draft.write_text(facts.to_json())


def _stem(request: Request) -> str:
    return f"{short(request.launch.program.stem)}-{request.launch.ranks}"


def _lock_name(request: Request) -> str:
    """Return the name of a recording's lock: the same for all processes, before its dependencies are known."""
    words = (str(request.folder), request.launch.program.name, *request.launch.arguments)
    return f"{_stem(request)}-{hashlib.sha256(chr(0).join(words).encode()).hexdigest()[:12]}"
