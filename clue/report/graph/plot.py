"""A program's structure graph: rectangles compute, triangles communicate, loops are dotted, branches side by side."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, Polygon, Rectangle

from clue.analysis.graph import GraphProfile
from clue.caveats import Count
from clue.report.graph.words import whose
from clue.report.graph.words import words as words_of
from clue.report.shared import style
from clue.report.shared.lettering import fit
from clue.report.shared.style import save
from clue.structure import Kind, Node
from clue.units import format_share, format_time

#: Sizes in inches: width of a column, height of a leaf, room above a loop or branches, and margin around them.
_WIDTH, _LEAF, _HEAD, _EDGE = 4.4, 0.36, 0.34, 0.14
#: Largest number of leaves of which all are drawn; beyond it, those with a smaller share of the time are left out.
_ALL, _SMALL = 40, 0.005
_GLYPH = 0.3


def draw_graph(profile: GraphProfile) -> Figure:
    """Draw a graph; the darker a node, the larger its share of the time."""
    layout = _Layout(profile, _left_out(profile))
    root = profile.graph.root
    width, height = layout.size(root)
    small = f"below {_SMALL:.1%} of the time"
    left_out = f"{Count(len(layout.hidden)):node {small} is|nodes {small} are} left out"
    hidden = f" ({left_out})" if layout.hidden else ""
    title = f"{profile.name}: {format_time(profile.seconds[root])}, {profile.measure}{hidden}"
    drawn = style.figure(max(width, 6.0) + 0.3, height + 0.6, title)
    axes = drawn.subplots()
    axes.set_axis_off()
    axes.set_xlim(0, max(width, 6.0))
    axes.set_ylim(height, 0)
    layout.draw(axes, root, 0.0, 0.0, max(width, 6.0))
    return drawn


def _left_out(profile: GraphProfile) -> frozenset[Node]:
    leaves = [node for _, node in profile.graph.root.walk() if not node.children]
    return frozenset(node for node in leaves if profile.share(node) < _SMALL) if len(leaves) > _ALL else frozenset()


@dataclass(frozen=True, slots=True, eq=False)
class _Layout:
    """The positions of nodes: sequences from top to bottom, branches from left to right."""

    profile: GraphProfile
    hidden: frozenset[Node]

    def shown(self, node: Node) -> list[Node]:
        """Return the children that are drawn, at least in part."""
        return [child for child in node.children if any(self.is_drawn(leaf) for _, leaf in child.walk())]

    def is_drawn(self, node: Node) -> bool:
        """Tell whether a node is a leaf that is drawn."""
        return not node.children and node not in self.hidden

    def size(self, node: Node) -> tuple[float, float]:
        """Return width and height, inches."""
        if not node.children:
            return _WIDTH, _LEAF
        sizes = [self.size(child) for child in self.shown(node)] or [(_WIDTH, 0.0)]
        widths, heights = zip(*sizes, strict=True)
        if node.kind is Kind.PARALLEL:
            return sum(widths) + _EDGE * (len(widths) + 1), max(heights) + _HEAD + _EDGE
        if node.kind is Kind.LOOP:
            return max(widths) + 2 * _EDGE, sum(heights) + _HEAD + _EDGE
        return max(widths), sum(heights)

    def draw(self, axes: Axes, node: Node, x: float, y: float, width: float) -> None:
        """Draw a node into its column, whose upper left corner is at x, y."""
        if not node.children:
            self._leaf(axes, node, x, y, width)
        elif node.kind is Kind.PARALLEL:
            self._parallel(axes, node, x, y, width)
        else:
            self._column(axes, node, x, y, width)

    def _column(self, axes: Axes, node: Node, x: float, y: float, width: float) -> None:
        if node.kind is Kind.LOOP:
            height = self.size(node)[1]
            box = (x + _EDGE / 2, y + _EDGE / 2), width - _EDGE, height - _EDGE
            look: dict[str, Any] = {"linestyle": (0, (1, 2)), "linewidth": 1.2}
            look |= {"boxstyle": "round,pad=0,rounding_size=0.08"}
            axes.add_patch(FancyBboxPatch(*box, fill=False, edgecolor=style.QUIET, **look))
            words = f"{words_of(self.profile, node)}, {node.place}: {self._share(node)}"
            self._write(axes, words, x + _EDGE, y + _HEAD / 2 + _EDGE / 2, width - 2 * _EDGE)
            x, y, width = x + _EDGE, y + _HEAD, width - 2 * _EDGE
        for child in self.shown(node):
            self.draw(axes, child, x, y, width)
            y += self.size(child)[1]

    def _parallel(self, axes: Axes, node: Node, x: float, y: float, width: float) -> None:
        children = self.shown(node)
        spare = (width - self.size(node)[0]) / len(children)
        height = self.size(node)[1]
        x += _EDGE
        for i, child in enumerate(children):
            own = self.size(child)[0] + spare
            if i:
                axes.plot([x - _EDGE / 2] * 2, [y + _EDGE, y + height - _EDGE], color=style.UNUSED, linewidth=1)
            words = f"{whose(self.profile, child)}: {self._share(child)}"
            self._write(axes, words, x, y + _HEAD / 2, own, bold=True)
            self.draw(axes, child, x, y + _HEAD, own)
            x += own + _EDGE

    def _leaf(self, axes: Axes, node: Node, x: float, y: float, width: float) -> None:
        computes = node.kind is Kind.COMPUTATION
        colour = style.COMPUTE if computes else style.SEND
        left, top, bottom = x + 0.08, y + 0.06, y + _LEAF - 0.06
        strength = 0.12 + 0.88 * min(self.profile.share(node) * 2, 1.0)
        for face, alpha in ((colour, strength), ("none", 1.0)):
            look: dict[str, Any] = {"facecolor": face, "alpha": alpha, "edgecolor": colour, "linewidth": 1.0}
            if computes:
                axes.add_patch(Rectangle((left, top), _GLYPH, bottom - top, **look))
            else:
                axes.add_patch(Polygon([(left, top), (left + _GLYPH, top), (left + _GLYPH / 2, bottom)], **look))
        region = f" [{node.region}]" if node.region else ""
        place = f", {node.place}" if node.place else ""
        words = f"{words_of(self.profile, node)}{region}{place}: {self._share(node)}"
        self._write(axes, words, left + _GLYPH + 0.08, (top + bottom) / 2, width - _GLYPH - 0.3)

    def _share(self, node: Node) -> str:
        return f"{format_time(self.profile.seconds[node])} ({format_share(self.profile.share(node), 1)})"

    def _write(self, axes: Axes, text: str, x: float, y: float, width: float, *, bold: bool = False) -> None:
        weight = "bold" if bold else "normal"
        shown = fit(text, width, lines=1, size=style.TICK, bold=bold)
        axes.text(x, y, shown, fontsize=style.TICK, color=style.INK, va="center", fontweight=weight)


def plot_graph(profile: GraphProfile, folder: Path) -> Path:
    """Draw a program's structure: ``graph.png``.

    Raises:
        ClueError: If the file cannot be written.
    """
    return save(draw_graph(profile), folder, "graph.png")
