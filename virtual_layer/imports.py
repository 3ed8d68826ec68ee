"""The modules that a program imports: its own by their content, installed ones by their names.

A recording depends on them, and only its ranks know them. The content of a source file is read when it is imported,
because the file may be edited during a long recording. Other imports (extensions, archives) are examined at the end: if
such a file was written since the recording began, the imported content is unknown.
"""

from __future__ import annotations

import os
import sys
from importlib.machinery import SourceFileLoader
from typing import Any

from clue.trace.parts import Imported

#: Folders of installed packages, which have versions.
INSTALLED = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")
_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH120, PTH100 - the rank starts fast
#: Folder of the standard library, which has Python's version.
STANDARD = os.path.dirname(os.__file__) + os.sep  # noqa: PTH120
#: Folders of clue, which is not part of the program.
TOOLS = tuple(os.path.join(_ROOT, part) + os.sep for part in ("clue", "virtual_layer"))  # noqa: PTH118


class Imports:
    """The modules that this process imports from now on."""

    def __init__(self) -> None:
        self._before = set(sys.modules)
        self._digests: dict[str, str] = {}

    def watch(self) -> None:
        """Look at source files when they are imported."""
        plain = SourceFileLoader.path_stats

        def noted(loader: SourceFileLoader, path: str) -> Any:
            file = os.path.abspath(path)  # noqa: PTH100
            if file not in self._digests and is_own(file):
                self._digests[file] = _digest(file)
            return plain(loader, path)

        SourceFileLoader.path_stats = noted  # type: ignore[method-assign, assignment]

    def found(self, began: int) -> Imported:
        """Return the imports: digests of the program's own files, and the file of each installed package or module.

        Args:
            began: When the recording began, nanoseconds since 1970.
        """
        packages: dict[str, str] = {}
        for name, module in list(sys.modules.items()):
            file = None if name in self._before else _file(module)
            if file is None or file in self._digests or file.startswith(TOOLS):
                continue
            if is_installed(file):
                packages.setdefault(name.partition(".")[0], file)
            elif is_own(file):
                self._digests[file] = _digest(file, began)
        return Imported(self._digests, packages)


def is_own(file: str) -> bool:
    """Tell whether a file is the program's own: not of an installed package, of Python, or of clue."""
    return not file.startswith((STANDARD, *TOOLS)) and not is_installed(file)


def is_installed(file: str) -> bool:
    """Tell whether a file is in a folder of installed packages."""
    return any(part in file for part in INSTALLED)


def _file(module: object) -> str | None:
    """Return the file or archive that a module came from; ``None`` if there is none."""
    try:
        names = object.__getattribute__(module, "__dict__")  # plain attribute access would load a lazy module now
    except AttributeError:
        return None
    loader = getattr(names.get("__spec__"), "loader", None)
    file = getattr(loader, "archive", None) or names.get("__file__")
    if not isinstance(file, str):
        return None
    file = os.path.abspath(file)  # noqa: PTH100
    return file if os.path.isfile(file) else None  # noqa: PTH113


def _digest(file: str, began: int | None = None) -> str:
    """Return the digest of a file's content; ``""``, which equals no digest, if unknown or written since ``began``."""
    try:
        if began is not None and os.stat(file).st_ctime_ns >= began:  # noqa: PTH116
            return ""
        with open(file, "rb") as content:  # noqa: PTH123
            import hashlib  # noqa: PLC0415 - after the program's end: before, it may import this itself

            return hashlib.sha256(content.read()).hexdigest()
    except OSError:
        return ""
