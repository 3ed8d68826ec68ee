"""One rank's share of a collective."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from clue.trace.ops import Op


class Share(NamedTuple):
    """One rank's share of a collective, as the fields of a row.

    Attributes:
        op: Its op code.
        root: Its root, if it has one.
        nbytes: Size for this rank, bytes.
        listed: Sizes by partner, bytes, if they differ.
        flags: Flags of the call.
        element: Bytes of an element, where its algorithm may cut a vector.
    """

    op: Op
    root: int = 0
    nbytes: int = 0
    listed: Sequence[int] = ()
    flags: int = 0
    element: int = 0
