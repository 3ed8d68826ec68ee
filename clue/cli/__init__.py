"""The command line: arguments, files, printing and exit status; nothing else is decided here."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from clue.cli.arguments import parse_arguments
from clue.cli.signals import INTERRUPTED, Heard, unwinding
from clue.errors import ClueError

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status.

    Returns:
        0 done, 1 run-time failure, 2 bad usage or input, 3 deadlock, 128 and its number after a signal.
    """
    arguments = parse_arguments(argv)
    with unwinding() as heard:
        status = _run(arguments, heard)
        return heard.status if status == INTERRUPTED else status


def _run(arguments: argparse.Namespace, heard: Heard) -> int:
    try:
        return int(arguments.run(arguments))
    except ClueError as error:
        for line in str(error).splitlines():
            print(f"clue: {line}", file=sys.stderr)
        return error.exit_status
    except KeyboardInterrupt:
        print(f"clue: {heard}", file=sys.stderr)
        return INTERRUPTED
    except MemoryError as error:
        print(f"clue: memory must suffice for what was asked, got {str(error) or 'none left'}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        # The reader of our output has gone (`clue … | head`): nothing is wrong, and there is nobody to tell.
        sys.stderr.close()
        return 0
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        print(f"clue: {place}{error.strerror or error}", file=sys.stderr)
        return 1
