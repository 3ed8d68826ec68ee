"""Folders that no other user can change, and which of their files can be trusted.

Only their user and root may write to these folders and to the files used from them. Both are opened first, and then
the open file is checked (``fstat``), so that nothing can be exchanged between check and use; no user can give a folder
to another. A file appears atomically, and the digest beside it is checked each time. A process that makes an item
holds the lock of the item, so that a draft without a lock was left by a process that was killed.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import pwd
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from clue.errors import CacheError
from clue.xdg import user_folder

#: Ending of the digest of the file beside it.
DIGEST = ".sha256"
#: Endings of drafts and locks, which exist only while something is being made.
DRAFT, LOCK = ".draft", ".lock"

_OURS_ALONE = 0o700
_SAFELY = os.O_NOFOLLOW | os.O_CLOEXEC
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
#: Errors of file systems without locks, such as some on clusters (for instance Lustre mounted without locks).
_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP}
#: Advice about a cache that is refused.
_REMEDY = "set CLUE_CACHE to a folder of your own"


def home() -> Path:
    """Return the cache folder; it need not exist.

    Raises:
        CacheError: If neither the environment nor a home folder determines it.
    """
    named = os.environ.get("CLUE_CACHE")
    if named:
        return Path(named)
    folder = user_folder("XDG_CACHE_HOME", ".cache")
    if folder is None:
        raise CacheError("CLUE_CACHE must name a folder where there is no home folder, got none")
    return folder


def unsafe(facts: os.stat_result) -> str:
    """Say how a user other than us and root could change a file or folder; ``""`` if none could."""
    if facts.st_uid not in {os.geteuid(), 0}:
        return f"one that belongs to {_name(facts.st_uid)}"
    if facts.st_mode & _OTHERS_WRITE:
        return f"mode {stat.S_IMODE(facts.st_mode):04o}, by which others may write"
    return ""


def unsafe_within(folder: Path) -> str:
    """Do the same for a folder and everything in it; links are unsafe, too."""
    for each in (folder, *folder.rglob("*")):
        facts = each.lstat()
        fault = "a symbolic link" if stat.S_ISLNK(facts.st_mode) else unsafe(facts)
        if fault:
            return f"{fault} ({each.name})"
    return ""


def close_to_others(folder: Path) -> None:
    """Remove other users' rights from a folder of ours and everything in it, whatever the umask gave them."""
    for each in (folder, *folder.rglob("*")):
        each.chmod(stat.S_IMODE(each.lstat().st_mode) & _OURS_ALONE)


def short(name: str) -> str:
    """Return the beginning of a program's name, for items named after it.

    Names of files have at most 255 bytes, and a letter has up to four.
    """
    return name[:40]


def draft_of(path: Path) -> str:
    """Return the name of the item being made in a draft; ``""`` if it is not a draft."""
    return path.name[1 : -len(DRAFT)].rpartition(".")[0] if path.suffix == DRAFT else ""


def _name(user: int) -> str:
    try:
        return f"{pwd.getpwuid(user).pw_name} (user {user})"
    except KeyError:
        return f"user {user}"


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder that no other user can change.

    Attributes:
        path: Where it is.
        descriptor: The open folder, in which names are looked up.
    """

    path: Path
    descriptor: int

    def sound(self, name: str) -> int | None:
        """Open a file that is whole and that no other user could have changed; ``None`` if there is none.

        Returns:
            Its descriptor, which the caller closes.
        """
        descriptor = self._open(name)
        if descriptor is None:
            return None
        if _digest(descriptor) == self._noted(name):
            return descriptor
        os.close(descriptor)
        return None

    def made(self, name: str, make: Callable[[Path], object]) -> int:
        """Open a file as :meth:`sound` does, after making it if necessary, once for all processes that request it.

        Args:
            name: Its name.
            make: Writes it to a path.

        Raises:
            CacheError: If it cannot be kept here.
        """
        found = self.sound(name)
        if found is not None:
            return found
        with self.lock(name):
            found = self.sound(name)
            if found is None:
                self._write(name, make)
                found = self.sound(name)
        if found is None:
            raise CacheError(f"{self.path / name}: file must be what was just written, got another")
        return found

    def keep(self, name: str, make: Callable[[Path], object]) -> None:
        """Write a file, replacing one that exists.

        Args:
            name: Its name.
            make: Writes it to a path.

        Raises:
            CacheError: If it cannot be kept here.
        """
        with self.lock(name):
            self._write(name, make)

    def _write(self, name: str, make: Callable[[Path], object]) -> None:
        with self.draft(name) as draft:
            make(draft / name)
            self._keep(draft, name)

    @contextmanager
    def draft(self, name: str) -> Iterator[Path]:
        """Provide a new folder for a draft; it is removed afterwards, with what is left in it.

        Raises:
            CacheError: If it cannot be made.
        """
        try:
            draft = Path(tempfile.mkdtemp(DRAFT, f".{name}.", self.path))
        except OSError as error:
            raise _unusable(self.path, error) from None
        try:
            yield draft
        finally:
            shutil.rmtree(draft, ignore_errors=True)

    @contextmanager
    def lock(self, name: str, waiting: Callable[[str], None] = lambda _who: None) -> Iterator[None]:
        """Hold the lock on making something, for the length of a block.

        The lock is released however its process ends. On a file system without locks, all processes proceed:
        files still appear atomically, but may be made more than once.

        Args:
            name: Name of the item.
            waiting: Called with the name of another process that makes it, before waiting for that.

        Raises:
            CacheError: If the lock file cannot be made.
        """
        descriptor = self._locked(name, waiting)
        try:
            yield
        finally:
            # Still locked, so that no process locks a removed file.
            with suppress(FileNotFoundError):  # without locks, another process may have removed it
                os.unlink(f".{name}{LOCK}", dir_fd=self.descriptor)
            os.close(descriptor)

    def is_locked(self, name: str) -> bool:
        """Tell whether a process is making something now."""
        descriptor = self._open(f".{name}{LOCK}", os.O_RDWR)  # locks over a network need write access
        if descriptor is None:
            return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            return error.errno not in _NO_LOCKS
        finally:
            os.close(descriptor)
        return False

    def _locked(self, name: str, waiting: Callable[[str], None]) -> int:
        file = f".{name}{LOCK}"
        try:
            while True:
                descriptor = os.open(file, os.O_RDWR | os.O_CREAT | _SAFELY, 0o600, dir_fd=self.descriptor)
                is_ours = _wait_for(descriptor, waiting)
                if self._is(descriptor, file):
                    break
                os.close(descriptor)  # the process that held the lock has removed the file
            if is_ours:
                os.ftruncate(descriptor, 0)
                os.pwrite(descriptor, f"process {os.getpid()} on {os.uname().nodename}".encode(), 0)
                self._sweep(name)
        except OSError as error:
            raise _unusable(self.path, error) from None
        return descriptor

    def _sweep(self, name: str) -> None:
        """Remove the drafts of killed processes."""
        for each in self.path.iterdir():
            if draft_of(each) == name:
                shutil.rmtree(each, ignore_errors=True)

    def _is(self, descriptor: int, file: str) -> bool:
        try:
            there = os.stat(file, dir_fd=self.descriptor, follow_symlinks=False)
        except FileNotFoundError:
            return False
        return os.path.samestat(os.fstat(descriptor), there)

    def _open(self, name: str, how: int = os.O_RDONLY) -> int | None:
        try:
            descriptor = os.open(name, how | os.O_NONBLOCK | _SAFELY, dir_fd=self.descriptor)
        except OSError:
            return None
        facts = os.fstat(descriptor)
        if stat.S_ISREG(facts.st_mode) and not unsafe(facts):
            return descriptor
        os.close(descriptor)
        return None

    def _noted(self, name: str) -> str | None:
        descriptor = self._open(name + DIGEST)
        if descriptor is None:
            return None
        with os.fdopen(descriptor, errors="replace") as file:
            return file.read().strip()

    def _keep(self, draft: Path, name: str) -> None:
        """Move a file from a draft to its place, with its digest beside it, replacing an earlier one."""
        try:
            with (
                _opened(draft.name, os.O_RDONLY | os.O_DIRECTORY, self.descriptor) as within,
                _opened(name, os.O_RDONLY, within) as made,
                _opened(name + DIGEST, os.O_RDWR | os.O_CREAT | os.O_EXCL, within) as noted,
            ):
                os.fchmod(made, _OURS_ALONE)
                os.write(noted, f"{_digest(made)}\n".encode())
                # The content is on disk before the name: otherwise a crash could leave an empty file.
                os.fsync(made)
                os.fsync(noted)
                for each in (name, name + DIGEST):
                    os.rename(each, each, src_dir_fd=within, dst_dir_fd=self.descriptor)
            os.fsync(self.descriptor)
        except OSError as error:
            raise _unusable(self.path, error) from None


@contextmanager
def open_folder(path: Path) -> Iterator[Folder]:
    """Open a folder that no other user can change, after making it if necessary.

    Raises:
        CacheError: If others could change it, or it cannot be made or opened.
    """
    try:
        _make(path)
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | _SAFELY)
    except OSError as error:
        raise _unusable(path, error) from None
    try:
        facts = os.fstat(descriptor)
        fault = unsafe(facts) or _way_in(path)
        if fault:
            ours = facts.st_uid == os.geteuid() and facts.st_mode & _OTHERS_WRITE
            remedy = f"take that right away (chmod go-w {path}), or {_REMEDY}" if ours else _REMEDY
            raise CacheError(f"{path}: folder must be one that only you may write, got {fault}: {remedy}")
        yield Folder(path, descriptor)
    finally:
        os.close(descriptor)


def _make(path: Path) -> None:
    """Make a folder and its parents, accessible to us alone whatever the umask is."""
    if not path.parent.exists():
        _make(path.parent)
    with suppress(FileExistsError):
        path.mkdir(_OURS_ALONE)


def _way_in(path: Path) -> str:
    """Describe a parent folder in which anybody may replace this one.

    A group's right to write is accepted: many homes belong to a group of their user alone, and opened files are checked
    themselves.
    """
    for above in path.resolve().parents:
        mode = above.stat().st_mode
        if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
            return f"one in {above} (mode {stat.S_IMODE(mode):04o}), where anybody may put another in its place"
    return ""


def _wait_for(descriptor: int, waiting: Callable[[str], None]) -> bool:
    """Wait for a lock; return whether the file system has locks."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        waiting(os.pread(descriptor, 200, 0).decode(errors="replace") or "another process")
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
        return False
    return True


def _digest(descriptor: int) -> str:
    digest, at = hashlib.sha256(), 0
    while piece := os.pread(descriptor, 1 << 20, at):
        digest.update(piece)
        at += len(piece)
    return digest.hexdigest()


@contextmanager
def _opened(name: str, flags: int, within: int) -> Iterator[int]:
    descriptor = os.open(name, flags | _SAFELY, 0o600, dir_fd=within)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _unusable(path: Path, error: OSError) -> CacheError:
    # The error for a symbolic link says that it is not a folder.
    said = "a symbolic link" if path.is_symlink() else error.strerror or str(error)
    return CacheError(f"{path}: folder must be one that you may write, got {said}: {_REMEDY}")
