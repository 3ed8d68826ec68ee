"""The library that comes with a wheel, compiled for any processor of its kind; it lies beside its sources.

Its name tells these sources and its own content: ``NAME-SOURCES-CONTENT.so``. Beside other sources (somebody edits an
installation), or cut off on its way, it is not taken.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from clue.native.compiler import PORTABLE, Source, compile_library, key


def ship(source: Source, folder: Path) -> Path:
    """Compile a library into a folder, for a wheel; returns its path.

    Raises:
        NoLibraryError: If it cannot be made, with the reason.
    """
    made = folder / f"{source.name}.so"
    compile_library(source, made, PORTABLE)
    return made.rename(folder / f"{source.name}-{key(source)}-{_content(made)}.so")


def shipped(source: Source) -> Path | None:
    """Return the library that came with this installation, if there is a sound one of these very sources."""
    found = source.folder.glob(f"{source.name}-{key(source)}-*.so")
    return next((path for path in found if path.stem.endswith(f"-{_content(path)}")), None)


def _content(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]
