"""The command line: arguments, files, printing and exit status; nothing else is decided here."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence

from clue.cli.arguments import parse_arguments
from clue.cli.signals import INTERRUPTED, Heard, unwinding
from clue.errors import ClueError
from clue.units import format_time

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
        return _obey(arguments)
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


def _obey(arguments: argparse.Namespace) -> int:
    """Run the command as loud as it is to be."""
    from clue.cli.terminal import Volume, detail, speaking  # noqa: PLC0415 - who asks for help needs no terminal

    begin = time.monotonic()
    with speaking(Volume.ERRORS if arguments.quiet else Volume.STEPS if arguments.verbose else Volume.USUAL):
        status = int(arguments.run(arguments))
        detail(f"done in {format_time(time.monotonic() - begin)}")
    return status
