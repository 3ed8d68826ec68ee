"""The parts of a testbed that are written in C; they are compiled on first use."""

from __future__ import annotations

import hashlib
import os
import subprocess
from pathlib import Path

from clue.cache import home, open_folder
from clue.errors import UsageError

_HERE = Path(__file__).parent


def pace() -> Path:
    """Return the library that is preloaded into every rank.

    Raises:
        UsageError: If it cannot be compiled.
    """
    return _compiled("pace.c", ".so", "-shared", "-fPIC", "-ldl")


def competitor() -> Path:
    """Return the program that competes with ranks for the processors of a slow host.

    Raises:
        UsageError: If it cannot be compiled.
    """
    return _compiled("competitor.c", "")


def keeper() -> Path:
    """Return the program that keeps a core awake; its name identifies its contents.

    Raises:
        UsageError: If it cannot be compiled.
    """
    return _compiled("keeper.c", "")


def relay() -> Path:
    """Return the program that delays frames; its name identifies its contents.

    Raises:
        UsageError: If it cannot be compiled.
    """
    return _compiled("relay.c", "")


def softirqs() -> Path:
    """Return the program that measures how long the kernel's soft interrupts interrupt each thread.

    Raises:
        UsageError: If it cannot be compiled.
    """
    return _compiled("softirqs.c", "")


def streamer() -> Path:
    """Return the program that streams through memory; its name identifies its contents.

    Raises:
        UsageError: If it cannot be compiled.
    """
    return _compiled("streamer.c", "")


def _compiled(source: str, suffix: str, *options: str) -> Path:
    code = _HERE / source
    key = hashlib.blake2b(code.read_bytes(), digest_size=8).hexdigest()

    def compile_to(path: Path) -> None:
        words = ["cc", "-O2", "-o", str(path), str(code), *options]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode:
            raise UsageError(f"testbed: {source} must compile, got {done.stderr.strip()}")

    # Root runs it, so no other user may write it.
    with open_folder(home() / "testbed") as folder:
        os.close(folder.made(f"{code.stem}-{key}{suffix}", compile_to))
        return folder.path.resolve() / f"{code.stem}-{key}{suffix}"
