"""Get a document from a path, the name of a shipped file, or a mapping."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from clue.config.document import Document, from_python
from clue.config.faults import did_you_mean
from clue.config.shipped_files import find, shipped
from clue.config.yaml12 import parse_yaml
from clue.errors import ConfigError
from clue.files import is_file, is_readable, kind_of, names_open_file, not_text, read_text

#: Largest YAML file, bytes: far more than the allowed number of values needs.
LONGEST_FILE = 16 * 10**6
#: What users may pass for a machine, a scenario or a simulation.
Source = str | Path | Mapping[str, object]
#: What users name in place of a configuration, by the end of its name: its kind, and its key in a configuration.
_PROGRAMS = {".py": ("a Python program", "script"), ".clue.zip": ("a trace", "trace")}


def locate(source: str | Path, kinds: tuple[str, ...], relative_to: Path | str | None = None) -> Path:
    """Return the file of a path, or of the name of a shipped file of some kinds.

    Raises:
        ValueError: If there is no such file; with rule and value, so that the caller can add the place.
    """
    path = Path(relative_to or "") / source
    # Files may refer to ordinary files only; users may also name a pipe.
    if is_file(path) or (relative_to is None and is_readable(path)):
        return path
    text = str(source)
    named = find(text, kinds)
    if named is not None:
        return named
    if kind := kind_of(path):
        raise ValueError(f'must be a file, got the {kind} "{text}"')
    if Path(text).name != text or Path(text).suffix in {".yaml", ".yml", ".json"}:
        raise ValueError(f'must be a file that exists, got "{text}"')
    names = [name for kind in kinds for name in shipped(kind)]
    known = did_you_mean(text, names) or (f": shipped are {', '.join(names)}" if names else "")
    raise ValueError(f'must be a file or one of the {" or ".join(kinds)} shipped with clue, got "{text}"{known}')


def read_file(path: Path) -> Document:
    """Read a YAML file.

    Raises:
        ConfigError: If it cannot be read, or is not YAML.
    """
    try:
        return parse_yaml(read_text(path, most=LONGEST_FILE), str(path))
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}:{not_text(error)}") from None
    except OSError as error:
        raise ConfigError(f"{path}: file must be readable, got: {error.strerror or error}") from None


def read_source(
    source: Source, kinds: tuple[str, ...], relative_to: Path | str | None = None
) -> tuple[Document, Path | None]:
    """Return the document of a source, and its file (``None`` for a mapping or an open stream).

    Raises:
        ConfigError: If there is no such file, or it cannot be read.
    """
    if isinstance(source, Mapping):
        return from_python(source), None
    if not isinstance(source, str | Path):
        raise ConfigError(f"source must be a path, a name or a mapping, got {source!r}")
    kind = " or ".join(kind[:-1] for kind in kinds)
    if got := _program(Path(relative_to or "") / source, kinds):
        raise ConfigError(f"{source}: {kind} must be a YAML file, got {got}")
    try:
        path = locate(source, kinds, relative_to)
    except ValueError as error:
        raise ConfigError(f"{source}: {kind} {error}") from None
    return read_file(path), None if names_open_file(path) else path


def folder_of(path: Path | None, relative_to: Path | str | None) -> Path:
    """Return the folder to which the paths of a document are relative: that of its file, if it has one."""
    return Path(relative_to or "") if path is None else path.parent


def _program(path: Path, kinds: tuple[str, ...]) -> str:
    """Describe a program or a trace that is named in place of a file of some kinds; ``""`` if it is neither."""
    for end, (got, key) in _PROGRAMS.items():
        if path.name.endswith(end) and is_file(path):
            more = ", ranks: …" if key == "script" else ""
            hint = (
                f": name it in one, with a machine (program: {{{key}: {path}{more}}})" if "scenarios" in kinds else ""
            )
            return f"{got}{hint}"
    return ""
