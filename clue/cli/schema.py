"""``clue schema``: the JSON Schema of a file form, printed or written as a file for editors."""

from __future__ import annotations

import argparse
from pathlib import Path

from clue.cli.effects import refuse
from clue.cli.options import ALL_FORMS
from clue.cli.terminal import json_text, output_file, say, show_json
from clue.config import SCHEMA_KINDS, json_schema, schema_file
from clue.errors import UsageError
from clue.files import write_texts


def run(arguments: argparse.Namespace) -> int:
    """Print a schema, or the path of the shipped one; or write it, or all of them."""
    if arguments.path:
        refuse(arguments, ["-o"], "without --path", "both")
    if arguments.form == ALL_FORMS:
        _write_all(arguments)
    elif arguments.path:
        # A path is meant for other programs: unbroken, on one line, whatever its length.
        print(schema_file(arguments.form))
    elif arguments.output is None:
        show_json(json_schema(arguments.form))
    else:
        _write({Path(arguments.output): arguments.form})
    return 0


def _write_all(arguments: argparse.Namespace) -> None:
    if arguments.output is None:
        raise UsageError("schema: all must go with -o FOLDER, got none")
    folder = Path(arguments.output)
    _write({folder / schema_file(kind).name: kind for kind in SCHEMA_KINDS})


def _write(kinds: dict[Path, str]) -> None:
    write_texts({output_file(path): json_text(json_schema(kind)) for path, kind in kinds.items()})
    say([f"wrote {path}" for path in kinds])
