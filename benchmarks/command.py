"""The exit status of a study's command line."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

from clue.errors import ClueError

_P = ParamSpec("_P")


def with_status(run: Callable[_P, None]) -> Callable[_P, int]:
    """Let a command return its exit status: 0, that of an error of clue, which is printed, or 130 if interrupted."""

    @wraps(run)
    def command(*args: _P.args, **kwargs: _P.kwargs) -> int:
        try:
            run(*args, **kwargs)
        except ClueError as error:
            print(error, file=sys.stderr)
            return error.exit_status
        except KeyboardInterrupt:
            return 130
        return 0

    return command
