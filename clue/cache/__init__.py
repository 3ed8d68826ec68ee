"""Where clue keeps what it makes for itself: compiled code and recordings, which are run or believed later on.

::

    CLUE_CACHE, else clue in XDG_CACHE_HOME, else ~/.cache/clue
        engine/     the fast engine
        traces/     recordings of programs
        extrapolated/   traces that were made of recordings
        hosts/      what computers that recorded can do at their best
        testbed/    helpers of emulated clusters

``folders`` makes them and says what may be believed; ``contents`` says what is there, and removes it.
"""

from clue.cache.contents import FOLDERS, MARK, Cleared, Item, clear, items
from clue.cache.folders import DIGEST, Folder, close_to_others, home, open_folder, unsafe_within

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
    "unsafe_within",
]
