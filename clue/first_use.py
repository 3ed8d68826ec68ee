"""Names of packages that are loaded on first use, because importing all modules takes up to a second."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module


def loaded_on_first_use(package: str, homes: Mapping[str, Sequence[str]]) -> Callable[[str], object]:
    """Return the ``__getattr__`` of a package.

    Args:
        package: Name of the package.
        homes: The names that each of its modules defines.
    """
    home = {name: module for module, names in homes.items() for name in names}

    def load(name: str) -> object:
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{home[name]}"), name)

    return load
