"""Spawned worlds in a rank process: Spawn starts Python programs as further ranks, Get_parent finds the parents.

Root and children share the key of the intercommunicator between them. It is derived from the spawning communicator and
the number of the Spawn on it; the children get it when they start.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clue.trace.ops import Op
from virtual_layer.communicators import derive_key
from virtual_layer.spawning import python_program
from virtual_layer.substitutes.factories import Factory, of_layer
from virtual_layer.substitutes.intercomms import intercomm

if TYPE_CHECKING:
    from virtual_layer.substitutes.comms import LiveComm
    from virtual_layer.substitutes.layer import Layer


_SPAWN = int(Op.SPAWN)
_SHEBANG = re.compile(rb"#!.*\bpython[\d.]*\b")


def program_of(command: Any, arguments: Any) -> list[str] | None:
    """Return the Python program that a command runs, with its arguments; ``None`` if it does not run one."""
    found = python_program(command, arguments)
    if found is not None:
        return [os.fsdecode(word) for word in found[1]]
    path = Path(os.fsdecode(command))
    words = [arguments] if isinstance(arguments, str) else list(arguments or ())
    if path.suffix == ".py" or (path.is_file() and _SHEBANG.match(path.open("rb").readline())):
        return [str(path), *words]
    return None


def _spawn(
    layer: Layer, self: Any, command: Any, args: Any = None, maxprocs: int = 1, info: Any = None, root: int = 0,
    errcodes: list[int] | None = None,
) -> Any:  # fmt: skip
    parent = layer.comm_of(self)
    commands = [_program(command, args)] * maxprocs if parent.rank == root else None
    made, children = _begin(layer, parent, root, commands)
    if errcodes is not None:
        errcodes[:] = [layer.mpi.SUCCESS] * children
    return made


def _program(command: Any, args: Any) -> list[str]:
    found = program_of(command, args)
    if found is None:
        raise NotImplementedError(f"Spawn: must start a Python program in a live run, got {os.fsdecode(command)}")
    return found


def _begin(layer: Layer, parent: LiveComm, root: int, commands: list[list[str]] | None) -> tuple[Any, int]:
    """Start a world; return the intercommunicator to it and its number of ranks."""
    if not 0 <= root < len(parent.group):
        raise layer.mpi.Exception(layer.mpi.ERR_ROOT)
    key = derive_key("spawn", parent.key, parent.made)
    parent.made += 1
    _, children = layer.port.ask(
        _SPAWN, peer=parent.group[root], context=parent.context, nbytes=len(commands or ()),
        payload=None if commands is None else (commands, (key, parent.group)),
    )  # fmt: skip
    made = intercomm(layer)
    layer.add(made, key, parent.group, tuple(children))
    return made, len(children)


def _spawn_multiple(
    layer: Layer, self: Any, command: Any, args: Any = None, maxprocs: Any = None, info: Any = None, root: int = 0,
    errcodes: list[list[int]] | None = None,
) -> Any:  # fmt: skip
    parent = layer.comm_of(self)
    commands = None
    counts = _counts(maxprocs, command) if parent.rank == root or errcodes is not None else []
    if parent.rank == root:
        _check_infos(layer, info, len(counts))
        pairs = zip(command, _arguments(args, len(counts)), counts, strict=True)
        commands = [_program(each, words) for each, words, count in pairs for _ in range(count)]
    made, _ = _begin(layer, parent, root, commands)
    if errcodes is not None:
        errcodes[:] = [[layer.mpi.SUCCESS] * count for count in counts]
    return made


def _counts(maxprocs: Any, command: Any) -> list[int]:
    """Return the number of ranks of each command, read as mpi4py does."""
    if isinstance(command, str | bytes | os.PathLike):
        raise ValueError("expecting a sequence of strings")
    if maxprocs is None or isinstance(maxprocs, int):
        return [1 if maxprocs is None else maxprocs] * len(command)
    if command is not None and len(maxprocs) != len(command):
        raise ValueError(f"expecting {len(command)} items, got {len(maxprocs)}")
    return [int(count) for count in maxprocs]


def _arguments(args: Any, count: int) -> Sequence[Any]:
    if args is None:
        return [None] * count
    if isinstance(args, str | bytes):
        raise ValueError("expecting a sequence of argument sequences")
    if len(args) != count:
        raise ValueError(f"expecting {count} items, got {len(args)}")
    return list(args)


def _check_infos(layer: Layer, info: Any, count: int) -> None:
    if info is not None and not isinstance(info, layer.mpi.Info) and len(info) != count:
        raise ValueError(f"expecting {count} items, got {len(info)}")


def _get_parent(layer: Layer, original: Any) -> Any:
    known: list[Any] = []

    def call(cls: type) -> Any:
        if not known:
            known.append(original(cls))
            if layer.parent is not None:
                _meet(layer, known[0])
        return known[0]

    return call


def _meet(layer: Layer, parent: Any) -> None:
    """Make mpi4py's own object the intercommunicator to the parents."""
    key, group = layer.parent
    layer.set_handle(parent, layer.real_comm())
    parent.Set_name("MPI_COMM_PARENT")
    layer.add(parent, key, layer.world, tuple(group))


CALLS: dict[tuple[str, str], Factory] = {
    ("Intracomm", "Spawn"): of_layer(_spawn),
    ("Intracomm", "Spawn_multiple"): of_layer(_spawn_multiple),
    ("Comm", "Get_parent"): _get_parent,
}
