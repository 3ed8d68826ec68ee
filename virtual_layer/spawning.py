"""Recording the children of a program: Spawn starts Python programs through the virtual layer.

A JSON file in the trace's folder, named after the children's world, announces their parents to them. Its presence tells
the other parents that the children are recorded.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from virtual_layer.communicators import derive_key
from virtual_layer.meaning.arguments import Arguments, Keywords, argument, put
from virtual_layer.recorder import Recorder

_WITH_VALUE = {"-W", "-X"}
#: Python's options -c and -m, which may follow letters without a value and precede their own: -um MODULE, -mMODULE.
_PROGRAM = re.compile(r"-([bBdEhiIOPqRsStuvVx]*)([cm])(.*)", re.DOTALL)


def announcement(folder: Path, world: str) -> Path:
    """Return the file that announces their parents to the children of a world."""
    return folder / f"{world}.spawn.json"


def announce(
    recorder: Recorder, args: Arguments, kwargs: Keywords, *, multiple: bool
) -> tuple[Arguments, Keywords, str]:
    """Change the arguments of a Spawn so that its children are recorded; the memo is the key of their world."""
    parent = recorder.comms[args[0].handle]
    serial, parent.made = parent.made, parent.made + 1
    world = derive_key("spawn", parent.key, serial)
    root = argument(5, "root", 0)(args, kwargs)
    if parent.plain and parent.rank == root:
        paper = announcement(recorder.spawn_folder, world)
        changed = _through_layer(args, kwargs, paper, multiple=multiple)
        if changed is not None:
            paper.write_text(json.dumps({"world": world, "parents": parent.group}))
            return changed[0], changed[1], world
    return args, kwargs, world


def announced(recorder: Recorder, world: str) -> bool:
    """Tell whether the children of a world are recorded."""
    return announcement(recorder.spawn_folder, world).exists()


def _through_layer(
    args: Arguments, kwargs: Keywords, paper: Path, *, multiple: bool
) -> tuple[Arguments, Keywords] | None:
    command, arguments = argument(1, "command")(args, kwargs), argument(2, "args")(args, kwargs)
    if not multiple:
        changed = python_arguments(command, arguments, paper)
        return None if changed is None else put(args, kwargs, 2, "args", changed)
    if arguments is None or len(arguments) != len(command):
        return None
    each = [python_arguments(*pair, paper) for pair in zip(command, arguments, strict=True)]
    if None in each:
        return None
    return put(args, kwargs, 2, "args", each)


def python_arguments(command: Any, arguments: Any, paper: Path) -> list[str] | None:
    """Return the arguments that run a Python program through the layer, or ``None`` if it is not one."""
    found = python_program(command, arguments)
    if found is None:
        return None
    options, program = found
    return [*options, "-m", "virtual_layer", "--child", str(paper), *program]


def python_program(command: Any, arguments: Any) -> tuple[Sequence[str], Sequence[str]] | None:
    """Return the interpreter's options and the program with its arguments, or ``None`` if it is not Python's."""
    name = os.fsdecode(command)
    if name != sys.executable and not re.fullmatch(r"python[\d.]*", Path(name).name):
        return None
    words: Sequence[str] = [arguments] if isinstance(arguments, str) else list(arguments or ())
    at = 0
    while at < len(words) and words[at].startswith("-") and words[at] != "-" and not _PROGRAM.fullmatch(words[at]):
        at += 2 if words[at] in _WITH_VALUE else 1
    if at >= len(words) or words[at] == "-":
        return None
    named = _PROGRAM.fullmatch(words[at])
    if named is None:
        return words[:at], words[at:]
    letters, option, value = named.groups()
    options = [*words[:at], *([f"-{letters}"] if letters else [])]
    return options, [f"-{option}", *([value] if value else []), *words[at + 1 :]]
