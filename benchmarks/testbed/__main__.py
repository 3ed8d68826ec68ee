"""``python -m benchmarks.testbed up|run|down MACHINE.yaml [-- COMMAND…]``: build, use and remove an emulated cluster.

python -m benchmarks.testbed run four-hosts.yaml -- python program.py     build it, run, remove it
python -m benchmarks.testbed up four-hosts.yaml                           build it, to stay
python -m benchmarks.testbed run four-hosts.yaml -n 3 -- python program.py
python -m benchmarks.testbed down four-hosts.yaml                         remove it (without a file: all there are)
"""

from __future__ import annotations

import argparse
import re
import sys
from contextlib import nullcontext

from benchmarks.command import with_status
from benchmarks.testbed import cluster, launch
from benchmarks.testbed.description import Host
from benchmarks.testbed.truth import hosts_at
from clue.config import load_machine
from clue.errors import UsageError
from clue.machine import Machine, Placement


@with_status
def main(words: list[str]) -> None:
    """Run the command line."""
    own, command = _split(words)
    asked = _parser().parse_args(own)
    if asked.machine is None and asked.verb != "down":
        raise UsageError("command line must name a machine's file, got none")
    lack = cluster.missing()
    if lack is not None:
        raise UsageError(lack)
    if asked.verb == "down":
        _down(asked.machine)
    elif asked.verb == "up":
        cluster.build(_name(load_machine(asked.machine)), hosts_at(asked.machine))
    else:
        _run(asked.machine, asked.n, command, rehearsed=not asked.plain)


def _split(words: list[str]) -> tuple[list[str], list[str]]:
    at = words.index("--") if "--" in words else len(words)
    return words[:at], words[at + 1 :]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.testbed", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("verb", choices=("up", "run", "down"))
    parser.add_argument("machine", nargs="?", help="the machine's file, as clue simulates it")
    parser.add_argument("-n", type=int, help="ranks, placed in blocks (default: one for each processor)")
    parser.add_argument("--plain", action="store_true", help="run: with the system's own allocator of memory")
    return parser


def _name(machine: Machine) -> str:
    """Return a name that is valid in the names of namespaces and folders."""
    return re.sub(r"[^a-z0-9]+", "_", machine.name.lower())


def _run(file: str, ranks: int | None, command: list[str], *, rehearsed: bool) -> None:
    if not command:
        raise UsageError("command line must name a command after --, got none")
    machine, hosts = load_machine(file), hosts_at(file)
    name = _name(machine)
    placed = placement(machine, hosts, machine.processors if ranks is None else ranks)
    with nullcontext(name) if cluster.is_up(name) else launch.standing(name, hosts) as testbed:
        outcome = launch.run(testbed, placed, command, rehearsed=rehearsed)
    sys.stdout.write(outcome.output)


def placement(machine: Machine, hosts: tuple[Host, ...], ranks: int) -> list[Host]:
    """Return the host of each rank, in blocks."""
    return [hosts[node] for node in Placement.block(machine, ranks).nodes]


def _down(machine: str | None) -> None:
    for name in sorted(cluster.existing()) if machine is None else [_name(load_machine(machine))]:
        cluster.remove(name)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
