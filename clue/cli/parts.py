"""``clue parts``: list the hardware library, or show the figures of some parts with their sources."""

from __future__ import annotations

import argparse

from clue.cli.effects import refuse
from clue.cli.terminal import show, show_json
from clue.config import load_part, load_parts
from clue.report.parts.document import KINDS, part_document
from clue.report.parts.text import part_text, parts_text


def run(arguments: argparse.Namespace) -> int:
    """List all parts, or show the named ones."""
    if arguments.parts:
        refuse(arguments, ["--kind"], "without parts, which have one each", arguments.parts[0])
        shown = [load_part(name) for name in arguments.parts]
    else:
        kinds = KINDS if arguments.kind is None else {arguments.kind: KINDS[arguments.kind]}
        shown = [part for kind in kinds.values() for part in load_parts().values() if isinstance(part, kind)]
    if arguments.json:
        show_json([part_document(part) for part in shown])
    elif arguments.parts:
        for part in shown:
            show(part_text(part))
    else:
        show(parts_text(shown))
    return 0
