"""Tokens of servers: from a file or the environment, never from the command line, where others could see them."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from clue.errors import UsageError
from clue.files import read_text
from clue.listening import check_token

#: Largest file with a token, bytes.
_LONGEST = 4096


def read_token(arguments: argparse.Namespace, variable: str) -> str | None:
    """Return the token from ``--token-file``, else from an environment variable; it is never shown.

    Raises:
        UsageError: If the file cannot be read.
    """
    if arguments.token_file is None:
        return os.environ.get(variable) or None
    path = Path(arguments.token_file)
    try:
        return read_text(path, most=_LONGEST).strip()
    except (OSError, UnicodeDecodeError) as error:
        said = getattr(error, "strerror", None) or "other than text"
        raise UsageError(f"{path}: token must be readable, got {said}") from None


def serving_token(arguments: argparse.Namespace, variable: str, address: str) -> str | None:
    """Return the token that a server requires at an address.

    Raises:
        UsageError: If it cannot be read, is missing, or is too weak.
    """
    token = read_token(arguments, variable)
    check_token(address, token, arguments.token_file or variable)
    return token
