"""The substitution table covers the catalogue of calls, so no call communicates outside the virtual layer."""

from __future__ import annotations

from collections import Counter

from virtual_layer.catalogue import CALLS
from virtual_layer.substitutes.table import MODULES

#: Calls of the catalogue that concern one process alone, or objects that only refused calls can make.
LOCAL = {
    "": "Attach_buffer Detach_buffer Flush_buffer Iflush_buffer",
    "Comm": "Attach_buffer Detach_buffer Flush_buffer Iflush_buffer free",  # free calls Free
    "Session": "Init Finalize Attach_buffer Detach_buffer Flush_buffer Iflush_buffer",
    "Grequest": "Start Complete complete",  # the program completes them itself
    "Win": "Attach Detach free",
}
NAMES = [name for module in MODULES for table in ("CALLS", "QUERIES") for name in getattr(module, table, {})]


def test_every_call_has_one_substitute() -> None:
    """No two modules substitute the same call."""
    assert [name for name, times in Counter(NAMES).items() if times > 1] == []


def test_every_call_of_the_catalogue_is_substituted_or_local() -> None:
    """Every call of the catalogue is substituted, local, or of a file, which only one process can open."""
    local = {(of, name) for of, names in LOCAL.items() for name in names.split()}
    left = {(call.type, call.name) for call in CALLS if call.name and call.type != "File"} - {*NAMES} - local
    assert left == set()
