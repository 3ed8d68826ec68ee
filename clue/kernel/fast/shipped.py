"""The engine that comes with a wheel, compiled for any processor of its kind; it lies beside the sources.

Its name tells these sources and its own content: ``engine-SOURCES-CONTENT.so``. Beside other sources (somebody edits an
installation), or cut off on its way, it is not taken.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from clue.kernel.fast.compiler import PORTABLE, SOURCES, compile_engine, key


def ship(folder: Path) -> Path:
    """Compile the engine into a folder, for a wheel; returns its path.

    Raises:
        NoLibraryError: If it cannot be made, with the reason.
    """
    made = folder / "engine.so"
    compile_engine(made, PORTABLE)
    return made.rename(folder / f"engine-{key()}-{_content(made)}.so")


def shipped() -> Path | None:
    """Return the engine that came with this installation, if there is a sound one of these very sources."""
    found = SOURCES.glob(f"engine-{key()}-*.so")
    return next((path for path in found if path.stem.endswith(f"-{_content(path)}")), None)


def _content(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]
