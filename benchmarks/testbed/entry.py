"""Stands in for ssh: ``entry.py STATE HOST COMMAND…`` runs a command on a host of a testbed, by its name or address.

MPI's launcher starts this program for every host, so it imports as little as possible. Options between STATE and HOST
are skipped. As with ssh, the command goes through a shell, except after ``--exec``. Python can enter a namespace only
from 3.12 on; this program calls libc instead.
"""

import ctypes
import json
import os
import sys

_NEW_NET, _NEW_UTS = 0x40000000, 0x04000000


def enter(host: dict) -> None:  # type: ignore[type-arg]
    """Make this process run on the host: with its processors, network and name."""
    with open(host["group"], "w") as processes:  # noqa: PTH123 - starts fast
        processes.write(str(os.getpid()))
    libc = ctypes.CDLL(None, use_errno=True)
    with open(host["namespace"]) as namespace:  # noqa: PTH123
        if libc.setns(namespace.fileno(), _NEW_NET) or libc.unshare(_NEW_UTS):
            raise OSError(ctypes.get_errno(), f"namespace of {host['name']} must let this process in")
    name = host["name"].encode()
    libc.sethostname(name, len(name))
    os.sched_setaffinity(0, host["cpus"])
    if host["factor"] is not None:  # The launcher passes its own variables on to the ranks, so it must not have these.
        os.environ["CLUE_TESTBED_FACTOR"] = repr(host["factor"])
        # CPU time already counts at the speed of its core, and a paced clock does not show that speed.
        os.environ["VIRTUAL_LAYER_PROBE"] = "0"
        os.environ["CLUE_TESTBED_CORES"] = ",".join(map(str, host["cpus"]))
        os.environ["CLUE_TESTBED_SPEEDS"] = host["speeds"]
        os.environ["CLUE_TESTBED_SOFTIRQS"] = host["softirqs"]
        os.environ.update(host["variables"])


def main(words: list) -> None:  # type: ignore[type-arg]
    """Enter a host and become the command."""
    with open(words[0]) as file:  # noqa: PTH123
        state = json.load(file)
    rest = words[1:]
    while rest and rest[0].startswith("-"):
        rest = rest[1:]
    host = next(each for each in state["hosts"] if rest[0] in (each["name"], each["address"]))
    enter(host)
    if rest[1] == "--exec":
        os.execvp(rest[2], rest[2:])
    os.execvp("/bin/sh", ["/bin/sh", "-c", " ".join(rest[1:])])


if __name__ == "__main__":
    main(sys.argv[1:])
