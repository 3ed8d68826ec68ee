"""Common to all forms of files: strictness, and how the alternative forms of a key are distinguished."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag

#: Names of alternative forms in pydantic's locations; they are not part of a path in the file.
FORMS = frozenset(
    f"<{name}>"
    for name in (
        *("one", "table", "list", "line", "points", "routine", "between", "within", "fill", "model"),
        *("switch", "switches", "fat_tree", "torus", "dragonfly"),
    )
)


class Form(BaseModel):
    """A mapping of a file: an unknown key is an error, and nothing is converted silently.

    Its validator is built on first use: no command reads all forms, and building all of them takes a tenth of a second.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False, defer_build=True)


def shape(value: object) -> str:
    """Return which form a value has: a mapping, a list, or one value."""
    if isinstance(value, Mapping):
        return "<table>"
    return "<list>" if isinstance(value, list) else "<one>"


def curve_shape(value: object) -> str:
    """Return which form a delay curve has: by points, by line, or one constant time."""
    if isinstance(value, Mapping):
        return "<points>" if "points" in value else "<line>"
    return "<one>"


_One = TypeVar("_One")
_Table = TypeVar("_Table")
_Each = TypeVar("_Each")
#: A key that takes one value, or instead a non-empty mapping or list.
OneOrTable = Annotated[Annotated[_One, Tag("<one>")] | Annotated[_Table, Tag("<table>")], Discriminator(shape)]
OneOrList = Annotated[
    Annotated[_One, Tag("<one>")] | Annotated[list[_Each], Field(min_length=1), Tag("<list>")], Discriminator(shape)
]
Name = Annotated[str, Field(min_length=1)]
