"""Remove a testbed when its process ends, however that happens: ``python -m benchmarks.testbed.guard NAME``.

It is started with every testbed, so it imports no more than it needs.
"""

from __future__ import annotations

import signal
import sys

from benchmarks.testbed import cluster
from clue.errors import ClueError


def main(name: str) -> None:
    """Wait until the process that started this one closes its end of the pipe, or dies; then remove its testbed."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    sys.stdin.read()
    try:
        cluster.remove(name)
    except ClueError as error:
        print(error, file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1])
