"""What the tests of live runs share: a machine, and running a program through the command line."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

import pytest

from clue.cli import main

#: Four nodes of one processor; a message takes 10 us of the sender, 30 us on the way and 10 us of the receiver.
MACHINE = """\
name: four
nodes: [{count: 4, type: host}]
node_types: {host: {processors: 1}}
network:
  contention: none
  between_nodes: {send_delay: 10 us, transmission_delay: 30 us, receive_delay: 10 us}
"""


@dataclass(frozen=True)
class Ended:
    """How a run ended: its status, and what it printed."""

    status: int
    out: str
    err: str


@dataclass(frozen=True)
class Live:
    """Runs programs in a folder of its own, whose path tells their processes from all others."""

    folder: Path
    capfd: pytest.CaptureFixture[str]

    def write(self, program: str, name: str = "prog.py") -> Path:
        """Write a program down."""
        path = self.folder / name
        path.write_text(dedent(program))
        return path

    def __call__(self, program: str, *options: str, ranks: int = 2, arguments: tuple[str, ...] = ()) -> Ended:
        """Run a program on the machine; no process of it is left."""
        self.capfd.readouterr()
        path = self.write(program)
        status = main(["run", "-n", str(ranks), "--machine", self.machine, *options, str(path), *arguments])
        assert processes_of(self.folder) == []
        return Ended(status, *self.capfd.readouterr())

    @property
    def machine(self) -> str:
        """Path of the machine."""
        path = self.folder / "four.yaml"
        if not path.exists():
            path.write_text(MACHINE)
        return str(path)


def processes_of(folder: Path) -> list[str]:
    """Return the processes whose command line has a folder in it, zombies aside."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if str(folder) in words:
            found.append(f"{path.parent.name}: {words}")
    return found
