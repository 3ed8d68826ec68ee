"""The cache: compiled code and recordings that clue makes for itself and uses in later runs.

::

    CLUE_CACHE, else clue in XDG_CACHE_HOME, else ~/.cache/clue
        engine/     the fast engine
        traces/     recordings of programs
        extrapolated/   traces made from recordings
        hosts/      best speeds of computers that recorded
        testbed/    helpers of emulated clusters

``folders`` makes the folders and decides what can be trusted; ``contents`` lists and removes items.
"""

from clue.cache.contents import FOLDERS, MARK, Cleared, Item, clear, items
from clue.cache.folders import DIGEST, Folder, close_to_others, home, open_folder, short, unsafe_within

__all__ = [
    "DIGEST",
    "FOLDERS",
    "MARK",
    "Cleared",
    "Folder",
    "Item",
    "clear",
    "close_to_others",
    "home",
    "items",
    "open_folder",
    "short",
    "unsafe_within",
]
