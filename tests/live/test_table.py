"""The substitution table: nothing stands in it twice."""

from __future__ import annotations

from collections import Counter

from virtual_layer.live.table import MODULES


def test_every_call_has_one_substitute() -> None:
    """No module takes the place of what another has put there."""
    names = Counter(name for module in MODULES for table in ("CALLS", "QUERIES") for name in getattr(module, table, {}))
    assert [name for name, times in names.items() if times > 1] == []
