"""Find the machines and scenarios shipped with clue by name, and the schemas of their forms."""

from __future__ import annotations

from pathlib import Path

#: Kinds of shipped files, which are also the names of their folders.
KINDS = ("machines", "scenarios")

_PACKAGE = Path(__file__).resolve().parent.parent


def shipped(kind: str) -> dict[str, Path]:
    """Return the shipped files of a kind (``"machines"`` or ``"scenarios"``) by name, sorted.

    In an installed package they are in ``clue/library``, in a checkout at its top level.
    """
    return _files(_folder(kind))


def shipped_parts() -> dict[str, Path]:
    """Return the parts of the hardware library (processors, networks, switches) by name, sorted."""
    return _files(_folder("machines") / "parts")


def schema_file(kind: str) -> Path:
    """Return the file with the JSON Schema of a kind of file, such as ``"machine"``, for editors."""
    return _folder("scenarios") / "schemas" / f"{kind}.schema.json"


def _folder(kind: str) -> Path:
    inside = _PACKAGE / "library" / kind
    return inside if inside.is_dir() else _PACKAGE.parent / kind


def _files(folder: Path) -> dict[str, Path]:
    return {file.stem: file for file in sorted(folder.glob("*.yaml"))}


def find(name: str, kinds: tuple[str, ...] = KINDS) -> Path | None:
    """Return the shipped file with a name, or ``None``; a scenario takes precedence over a machine of the same name."""
    for kind in sorted(kinds, reverse=True):
        if name in shipped(kind):
            return shipped(kind)[name]
    return None
