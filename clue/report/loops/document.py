"""A trace as loops, as a JSON document."""

from __future__ import annotations

from dataclasses import asdict
from typing import TypeGuard

from clue.analysis.loops import LoopsProfile
from clue.structure.loops import BITS, LOOP, NO_NUMBER, Affine, Expression, Node, Table, Variants
from clue.trace import Flag, Op


def loops_document(profile: LoopsProfile) -> dict[str, object]:
    """Describe the loops: the parts of the program, each with its ranks, as loops and ops."""
    loops = profile.loops
    return {
        "trace": loops.trace.name,
        "ranks": loops.trace.ranks,
        "ops": len(loops.trace.ops),
        "tokens": loops.tokens,
        "parts": [{"ranks": list(part.ranks), **_place(profile, part.node)} for part in loops.parts],
    }


def _place(profile: LoopsProfile, node: Node) -> dict[str, object]:
    repeated = {"repeated": _document(node.repeated)}
    if node.symbol == LOOP:
        return {**repeated, "body": [_place(profile, each) for each in node.body]}
    return {
        **repeated,
        "call": profile.name(node),
        "op": Op(profile.column("op", node)).name,
        "flags": [flag.name for flag in Flag if flag & profile.flags(node)],
        "along_bits": bool(profile.flags(node) & BITS),
        "region": profile.loops.trace.head.regions[profile.column("region", node)],
        "site": profile.site(node) or None,
        "numbers": {name: _document(each) for name, each in node.numbers.items()},
        "ops": profile.ops[node],
        "burst": profile.seconds[node] / profile.ops[node],
    }


def _document(variants: Variants) -> object:
    """Describe a number: its value if it is the same everywhere, else its expressions and their ranks."""
    (first, _), *others = variants
    if not others and is_constant(first):
        return _value(first.base)
    return [{"ranks": list(ranks), **_expression(each)} for each, ranks in variants]


def _expression(expression: Expression) -> dict[str, object]:
    if isinstance(expression, Table):
        names = ("count", "first", "step")
        pieces = ((count, _value(first), step) for count, first, step in expression.pieces)
        return {"pieces": [dict(zip(names, piece, strict=True)) for piece in pieces]}
    return {**asdict(expression), "base": _value(expression.base), "steps": list(expression.steps)}


def _value(number: int) -> int | None:
    """Return a number; ``None`` for a missing partner."""
    return number if number > NO_NUMBER else None


def is_constant(expression: Expression) -> TypeGuard[Affine]:
    """Tell whether a number is the same in all iterations and on all ranks."""
    return isinstance(expression, Affine) and expression == Affine(expression.base)
