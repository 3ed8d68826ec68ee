"""Running a Python program under the layer: its environment, its start, and how it ends."""

from __future__ import annotations

import importlib.util
import runpy
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from virtual_layer.compatibility import add_hint
from virtual_layer.own_modules import LOOKS_BESIDE
from virtual_layer.session import Session

if TYPE_CHECKING:  # it imports half of the standard library
    from importlib.abc import Loader

#: Variables that set one thread per rank, so that a burst is the work of the rank's own thread.
THREADS = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
#: Variables by which a blocked rank yields its processor, so that more ranks than processors do not disturb each other.
YIELDING = {
    "MPIR_CVAR_POLLS_BEFORE_YIELD": "1",
    "MPIR_CVAR_CH4_PROGRESS_THROTTLE": "1",
    "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
}


def settings(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment variables to set for recording, without those that the user has set."""
    threads = {} if "OMP_NUM_THREADS" in environment else THREADS
    return {name: value for name, value in (threads | YIELDING).items() if name not in environment}


class _AfterImport:
    """Runs a function right after ``mpi4py.MPI`` is imported, before the program sees the module."""

    def __init__(self, then: Callable[[ModuleType], None]) -> None:
        self._then = then

    def find_spec(self, name: str, _path: Any = None, _target: Any = None) -> ModuleSpec | None:
        if name != "mpi4py.MPI":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, self._then)  # type: ignore[assignment]
        return spec


class _Loader:
    def __init__(self, loader: Loader, then: Callable[[ModuleType], None]) -> None:
        self._loader = loader
        self._then = then

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        self._then(module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)


def run(words: Sequence[str], session: Session) -> None:
    """Run ``SCRIPT``, ``-m MODULE`` or ``-c CODE`` with its arguments as ``__main__``, recorded."""
    session.look_out()
    sys.meta_path.insert(0, _AfterImport(session.watch))
    session.imports.watch()
    try:
        start(list(words))
    except SystemExit as exit_:
        if exit_.code not in (None, 0):
            session.fail(f"exit status {int(exit_.code) if isinstance(exit_.code, int) else 1}")
        raise
    except BaseException as error:
        session.fail(f"{type(error).__name__}: {error}")
        add_hint(error)
        _abort_at_exit()
        raise


def start(words: list[str]) -> None:
    """Run ``SCRIPT``, ``-m MODULE`` or ``-c CODE`` with its arguments as ``__main__``."""
    if words[0] == "-c":
        code = compile(words[1], "<string>", "exec", 0, True)
        sys.argv[:] = ["-c", *words[2:]]
        runpy._run_module_code(code, None, "__main__", script_name="-c")  # type: ignore[attr-defined]
    elif words[0] == "-m":
        sys.argv[:] = words[1:]
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv[:] = words
        if LOOKS_BESIDE:
            sys.path[0] = str(Path(words[0]).parent.resolve())
        runpy.run_path(words[0], run_name="__main__")


def _abort_at_exit() -> None:
    # Otherwise the other ranks might wait for this one forever.
    mpi = sys.modules.get("mpi4py.MPI")
    if mpi is not None and hasattr(mpi, "_set_abort_status"):
        mpi._set_abort_status(1)
