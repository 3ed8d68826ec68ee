"""What hatch does when it builds a wheel: put compiled libraries in, so that who installs it never compiles.

Without a C++ compiler the wheel is made as well: pure Python, for any computer, on which they are compiled on
their first use. An editable installation has its sources changed all the time, and goes without.
"""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class EngineHook(BuildHookInterface[Any]):
    """Compiles libraries into the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the libraries to what is built, and say in the wheel's name for which computers it is."""
        if version == "editable" or sys.platform != "linux":
            return
        sys.path.insert(0, self.root)
        from clue.kernel.fast.library import ENGINE, LOOPED  # noqa: PLC0415 - of what is built here
        from clue.native import NoLibraryError  # noqa: PLC0415
        from clue.native.shipped import ship  # noqa: PLC0415
        from clue.recording.launching import PATHS  # noqa: PLC0415
        from clue.structure.loops.library import LOOPS  # noqa: PLC0415

        self._folder = TemporaryDirectory()
        try:
            libraries = (ENGINE, LOOPED, LOOPS, PATHS)
            made = {ship(each.source, Path(self._folder.name)): each.source.folder for each in libraries}
        except NoLibraryError as error:
            self.app.display_warning(f"the wheel goes without compiled libraries: {error}")
            return
        for library, folder in made.items():
            build_data["force_include"][str(library)] = str(folder.relative_to(self.root) / library.name)
        build_data["pure_python"] = False
        # They are called by ctypes: any Python 3 will do.
        build_data["tag"] = f"py3-none-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"
