"""What hatch does when it builds a wheel: put a compiled engine in, so that who installs it never compiles.

Without a C++ compiler the wheel is made as well: pure Python, for any computer, on which the engine is compiled on its
first use. An editable installation has its sources changed all the time, and goes without.
"""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class EngineHook(BuildHookInterface[Any]):
    """Compiles the engine into the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the engine to what is built, and say in the wheel's name for which computers it is."""
        if version == "editable" or sys.platform != "linux":
            return
        sys.path.insert(0, self.root)
        from clue.kernel.fast.compiler import NoLibraryError  # noqa: PLC0415 - of what is built here
        from clue.kernel.fast.shipped import ship  # noqa: PLC0415

        self._folder = TemporaryDirectory()
        try:
            engine = ship(Path(self._folder.name))
        except NoLibraryError as error:
            self.app.display_warning(f"the wheel goes without a compiled engine: {error}")
            return
        build_data["force_include"][str(engine)] = f"clue/kernel/fast/{engine.name}"
        build_data["pure_python"] = False
        # It is called by ctypes: any Python 3 will do.
        build_data["tag"] = f"py3-none-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"
