"""``clue schema``: the JSON Schema of a file form."""

from __future__ import annotations

import argparse

from clue.cli.terminal import show_json
from clue.config import json_schema


def run(arguments: argparse.Namespace) -> int:
    """Print the schema."""
    show_json(json_schema(arguments.form))
    return 0
