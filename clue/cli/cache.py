"""``clue cache``: show the cache's place, contents and size, or clear it."""

from __future__ import annotations

import argparse

from clue.cache import FOLDERS, Item, clear, home, items
from clue.caveats import Count
from clue.cli.terminal import say, show, show_json
from clue.extrapolation import kept as made
from clue.recording import kept, kept_recordings
from clue.report.cache.text import cache_text
from clue.trace import hosts
from clue.units import format_size


def run(arguments: argparse.Namespace) -> int:
    """Show the cache, or clear it."""
    return _clear(arguments) if arguments.clear else _show(arguments)


def _show(arguments: argparse.Namespace) -> int:
    recordings, extrapolated, speeds = kept_recordings(), items(made.FOLDER), items(hosts.FOLDER)
    others = {kept.FOLDER, made.FOLDER, hosts.FOLDER}
    compiled = [item for name in FOLDERS if name not in others for item in items(name)]
    if not arguments.json:
        show(cache_text(home(), recordings, extrapolated, compiled, speeds))
        return 0
    everything = [*(each.item for each in recordings), *extrapolated, *compiled, *speeds]
    show_json(
        {
            "cache": str(home()),
            "bytes": sum(item.nbytes for item in everything),
            "recordings": [
                {
                    "path": str(each.item.path),
                    "bytes": each.item.nbytes,
                    "made": each.item.made,
                    "recordings": each.recordings,
                    "program": each.facts.program if each.facts else None,
                    "arguments": list(each.facts.arguments) if each.facts else None,
                    "ranks": each.facts.ranks if each.facts else None,
                    "computer": each.facts.computer if each.facts else None,
                }
                for each in recordings
            ],
            "extrapolated": list(map(_item, extrapolated)),
            "compiled": list(map(_item, compiled)),
            "hosts": list(map(_item, speeds)),
        }
    )
    return 0


def _item(item: Item) -> dict[str, object]:
    return {"path": str(item.path), "bytes": item.nbytes, "made": item.made}


def _clear(arguments: argparse.Namespace) -> int:
    cleared = clear()
    freed = sum(item.nbytes for item in cleared.removed)
    if arguments.json:
        show_json(
            {
                "cache": str(home()),
                "removed": [str(item.path) for item in cleared.removed],
                "bytes": freed,
                "left": [str(path) for path in cleared.left],
            }
        )
        return 0
    say([f"removed {item.path}" for item in cleared.removed])
    say([f"left {path}: it is in use, or clue did not make it" for path in cleared.left])
    show(f"{home()}: removed {Count(len(cleared.removed)):entry|entries}, {format_size(freed)}")
    return 0
