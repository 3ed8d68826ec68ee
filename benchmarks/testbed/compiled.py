"""The parts of a testbed that are written in C; they are compiled on first use."""

from __future__ import annotations

import hashlib
import os
import subprocess
from pathlib import Path

from clue.cache import home, open_folder
from clue.errors import UsageError

_HERE = Path(__file__).parent


def library(source: str) -> Path:
    """Return a library to be preloaded into every rank: see :func:`program`."""
    return _compiled(source, ".so", "-shared", "-fPIC", "-ldl")


def program(source: str) -> Path:
    """Return the program of a source file beside this one; its name identifies its contents.

    Raises:
        UsageError: If it cannot be compiled.
    """
    return _compiled(source, "")


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
