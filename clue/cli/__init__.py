"""The command line: arguments, files, printing and exit status; nothing else is decided here."""

from __future__ import annotations

from collections.abc import Sequence

from clue.cli.status import INTERRUPTED, ending_at_once

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status: 0 done, 1 run-time failure, 2 bad usage or input, 3 deadlock."""
    with ending_at_once():
        from clue.cli.arguments import parse_arguments  # noqa: PLC0415 - Ctrl-C while this loads is to end quietly
        from clue.cli.streams import finish_output, give_up_output, open_streams, tell  # noqa: PLC0415
        from clue.errors import ClueError  # noqa: PLC0415
    open_streams()
    try:
        arguments = parse_arguments(argv)
        status = int(arguments.run(arguments))
        finish_output()
        return status
    except ClueError as error:
        tell(error.faults)
        return error.exit_status
    except KeyboardInterrupt:
        tell(["interrupted"])
        return INTERRUPTED
    except MemoryError as error:
        tell([f"memory must suffice for what was asked, got {str(error) or 'none left'}"])
        return 1
    except BrokenPipeError:
        # The reader of our output has gone (`clue … | head`): nothing is wrong, and there is nobody to tell.
        give_up_output()
        return 0
    except OSError as error:
        give_up_output()
        place = f"{error.filename}: " if error.filename else ""
        tell([f"{place}{error.strerror or error}"])
        return 1
