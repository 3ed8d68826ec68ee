"""Helpers that the tests of live runs share: a machine, and a way to run programs through the command line."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

import pytest

from clue.cli import main

#: Four nodes of one processor; a message takes 10 us on the sender, 30 us in the network and 10 us on the receiver.
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
    """The exit status and the output of a finished run."""

    status: int
    out: str
    err: str


@dataclass(frozen=True)
class Live:
    """Runs programs in a folder of the test's own, whose path identifies their processes."""

    folder: Path
    capfd: pytest.CaptureFixture[str]

    def write(self, program: str, name: str = "prog.py") -> Path:
        """Write a program to a file in the folder, and return its path."""
        path = self.folder / name
        path.write_text(dedent(program))
        return path

    def __call__(self, program: str, *options: str, ranks: int = 2, arguments: tuple[str, ...] = ()) -> Ended:
        """Run a program on the machine, and check that none of its processes is left."""
        self.capfd.readouterr()
        path = self.write(program)
        status = main(["run", "-n", str(ranks), "--machine", self.machine, *options, str(path), *arguments])
        assert processes_of(self.folder) == []
        return Ended(status, *self.capfd.readouterr())

    @property
    def machine(self) -> str:
        """Path of the machine's file, which is written at the first use."""
        path = self.folder / "four.yaml"
        if not path.exists():
            path.write_text(MACHINE)
        return str(path)


def processes_of(folder: Path) -> list[str]:
    """Return the processes, except zombies, whose command line contains the path of a folder."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if str(folder) in words:
            found.append(f"{path.parent.name}: {words}")
    return found
