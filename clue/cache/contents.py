"""Lists and removes the contents of the cache: only what clue made there, and never the target of a link."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from clue.cache.folders import DIGEST, LOCK, Folder, draft_of, home, open_folder

#: The folders in it.
FOLDERS = ("engine", "traces", "extrapolated", "hosts", "testbed")
#: Name of a file that marks a folder kept as a whole. A kept file has a digest beside it instead.
MARK = "facts.json"
#: Names that earlier versions of clue kept without either.
_EARLIER = re.compile(r"engine-[0-9a-f]{16}\.so|.+-\d+-[0-9a-f]{24}\.clue")


@dataclass(frozen=True, slots=True)
class Item:
    """A kept file or folder.

    Attributes:
        path: Its file or folder.
        nbytes: Its size, bytes.
        made: When it was made or added to, seconds since 1970.
    """

    path: Path
    nbytes: int
    made: float


@dataclass(frozen=True, slots=True)
class Cleared:
    """What was removed, and what was kept because it is in use or clue did not make it."""

    removed: tuple[Item, ...]
    left: tuple[Path, ...]


def items(name: str) -> list[Item]:
    """Return the items in one of the folders of the cache, given by name.

    Raises:
        CacheError: If it is refused.
    """
    if not (home() / name).exists():
        return []
    with open_folder(home() / name) as folder:
        return [_item(path) for path in sorted(folder.path.iterdir()) if _is_kept(path)]


def clear() -> Cleared:
    """Remove all items from the cache.

    Raises:
        CacheError: If a folder is refused.
    """
    removed: list[Item] = []
    left: list[Path] = []
    for name in FOLDERS:
        if (home() / name).exists():
            with open_folder(home() / name) as folder:
                removed += _emptied(folder)
                left += sorted(folder.path.iterdir())
    return Cleared(tuple(removed), tuple(left))


def _emptied(folder: Folder) -> Iterator[Item]:
    busy = {_kind(name) for name in _locks(folder) if folder.is_locked(name)}
    for path in sorted(folder.path.iterdir()):
        if _is_kept(path) and _kind(path.name) not in busy:
            item = _item(path)
            _remove(path)
            yield item
    for name in _locks(folder):
        if _kind(name) not in busy:
            with folder.lock(name):  # releasing removes the lock file, and leftovers of a draft
                pass


def _locks(folder: Folder) -> list[str]:
    """Return the names of items that are being made now, or were when their process was killed."""
    hidden = [path for path in folder.path.iterdir() if path.name.startswith(".")]
    locked = {path.name[1 : -len(LOCK)] for path in hidden if path.suffix == LOCK}
    return sorted(locked | {draft_of(path) for path in hidden} - {""})


def _kind(name: str) -> str:
    """Return the part of a name that an item shares with its lock: the name without the key."""
    return name.rpartition("-")[0]


def _is_kept(path: Path) -> bool:
    if path.is_symlink() or path.name.startswith("."):
        return False
    marked = path / MARK if path.is_dir() else path.with_name(path.name + DIGEST)
    return marked.is_file() or _EARLIER.fullmatch(path.name) is not None


def _item(path: Path) -> Item:
    files = [path, *path.rglob("*")] if path.is_dir() else [path, path.with_name(path.name + DIGEST)]
    facts = [file.lstat() for file in files if file.exists()]
    return Item(path, sum(each.st_size for each in facts), facts[0].st_mtime)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()
        path.with_name(path.name + DIGEST).unlink(missing_ok=True)
