"""The library shipped in a wheel, compiled for any processor of its kind, beside its sources.

Its name contains digests of the sources and of its own content: ``NAME-SOURCES-CONTENT.so``. It is not used beside
other sources (an edited installation), or if it is truncated.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from clue.native.compiler import PORTABLE, Source, compile_library, key


def ship(source: Source, folder: Path) -> Path:
    """Compile a library into a folder, for a wheel; return its path.

    Raises:
        NoLibraryError: If it cannot be made, with the reason.
    """
    made = folder / f"{source.name}.so"
    compile_library(source, made, PORTABLE)
    return made.rename(folder / f"{source.name}-{key(source)}-{_content(made)}.so")


def shipped(source: Source) -> Path | None:
    """Return the library shipped with this installation, if there is an intact one of exactly these sources."""
    found = source.folder.glob(f"{source.name}-{key(source)}-*.so")
    return next((path for path in found if path.stem.endswith(f"-{_content(path)}")), None)


def _content(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]
