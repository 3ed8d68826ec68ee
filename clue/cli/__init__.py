"""The command line: arguments, files, printing and exit status; nothing else is decided here."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from clue.cli.signals import INTERRUPTED, Heard, ending_at_once, unwinding

if TYPE_CHECKING:
    import argparse

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return the exit status.

    Returns:
        0: success; 1: run-time failure; 2: bad usage or input; 3: deadlock; 128 + its number: ended by a signal.
    """
    with unwinding() as heard:
        status = _run(argv, heard)
        return heard.status if status == INTERRUPTED else status


def _run(argv: Sequence[str] | None, heard: Heard) -> int:
    with ending_at_once():
        if "_ARGCOMPLETE" in os.environ:  # the shell asks for completions at the cursor
            from clue.cli.completion import answer  # noqa: PLC0415 - only then

            answer()
        from clue.cli.arguments import parse_arguments  # noqa: PLC0415 - so that Ctrl-C while this loads ends quietly
        from clue.cli.streams import few, finish_output, give_up_output, open_streams, tell  # noqa: PLC0415
        from clue.errors import ClueError  # noqa: PLC0415
    open_streams()
    try:
        status = _obey(parse_arguments(argv))
        finish_output()
        return status
    except ClueError as error:
        tell(few(error.faults))
        return error.exit_status
    except KeyboardInterrupt:
        tell([str(heard)])
        return INTERRUPTED
    except MemoryError as error:
        tell([f"memory must suffice for this command, got {str(error) or 'none left'}"])
        return 1
    except BrokenPipeError:
        # The reader of our output has gone (`clue … | head`): this is no error, and no message would be read.
        give_up_output()
        return 0
    except OSError as error:
        give_up_output()
        place = f"{error.filename}: " if error.filename else ""
        tell([f"{place}{error.strerror or error}"])
        return 1


def _obey(arguments: argparse.Namespace) -> int:
    """Run the command at the requested verbosity."""
    with ending_at_once():
        from clue.cli.terminal import Volume, detail, speaking  # noqa: PLC0415 - --help needs no terminal
        from clue.units import format_time  # noqa: PLC0415

    begin = time.monotonic()
    with speaking(Volume.ERRORS if arguments.quiet else Volume.STEPS if arguments.verbose else Volume.USUAL):
        status = int(arguments.run(arguments))
        detail(f"done in {format_time(time.monotonic() - begin)}")
    return status
