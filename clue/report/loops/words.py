"""A trace as loops: what each loop and call is, in words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby

from clue.analysis.loops import LoopsProfile
from clue.report.loops.document import is_constant
from clue.report.shared.ranks import ranks_text
from clue.structure.loops import (
    BITS,
    ENTRIES,
    LOOP,
    NO_NUMBER,
    NO_PEER,
    Affine,
    Expression,
    Node,
    Part,
    Table,
    Variants,
)
from clue.trace import Flag, Op
from clue.trace.ops import COLLECTIVES, ROOTED
from clue.units import format_number, format_size

#: Names of iteration variables, by level.
_ITERATIONS = "ijklmnopqrstuvwxyzabcdefgh"
#: The expressions of a number that is always 0, or 1.
ZERO, ONCE = Affine(0), Affine(1)
#: Largest number of listed pieces of a table, and of variants by rank; beyond it, only the range of values is given.
_TOLD = 3
_SENDS = (Op.SEND, Op.ISEND)
_SIZED = (*_SENDS, Op.PACK)
_ANYWHERE = (Op.COMPUTE, Op.WAIT, Op.PACK, Op.SLEEP, Op.LOCAL, Op.OTHER, Op.MRECV)
_RECEIVES = (Op.RECV, Op.IRECV, Op.PROBE, Op.MPROBE)


@dataclass(frozen=True, slots=True)
class Line:
    """A loop, or a call.

    Attributes:
        depth: Number of loops around it.
        words: The loop or call in words.
        ranks: The ranks that execute it.
        calls: Number of calls that it makes on all ranks; 0 for a loop.
        burst: Mean time of the burst before it, seconds.
        site: The place in the program where it is made, if known.
    """

    depth: int
    words: str
    ranks: tuple[int, ...]
    calls: int = 0
    burst: float = 0.0
    site: str = ""


def lines_of(profile: LoopsProfile) -> Iterator[Line]:
    """Yield loops and calls in program order."""
    for (name, _), parts in groupby(profile.loops.parts, key=lambda part: _kind(profile, part)):
        together = list(parts)
        if name and len(together) > 1:
            yield _by_rank(profile, name, together)
        else:
            yield from _lines(profile, [part.node for part in together], together[0].ranks, 0)


def _kind(profile: LoopsProfile, part: Part) -> tuple[str, tuple[int, ...]]:
    """Return a key that is equal for parts shown together: a call whose messages differ by rank, or equal ranks."""
    leaves = [node for node in part.node.walk() if node.symbol != LOOP]
    names = {profile.name(node) for node in leaves}
    pickled = all(profile.flags(node) & (Flag.PICKLED | BITS) == Flag.PICKLED for node in leaves)
    return (names.pop(), ()) if pickled and len(names) == 1 else ("", part.ranks)


def _by_rank(profile: LoopsProfile, name: str, parts: Sequence[Part]) -> Line:
    nodes = [node for part in parts for node in part.node.walk() if node.symbol != LOOP]
    first = [node for node in nodes if not profile.flags(node) & Flag.CONTINUED]
    made = sum(profile.calls[node] for node in first)
    ranks = tuple(sorted({rank for part in parts for rank in part.ranks}))
    messages = sum(profile.calls[node] for node in nodes)
    words = f"{name} in {format_number(messages)} messages, by rank"
    sites = ", ".join(dict.fromkeys(profile.site(node) for node in first if profile.site(node)))
    return Line(0, words, ranks, made, sum(profile.seconds[node] for node in first) / max(1, made), sites)


def _lines(profile: LoopsProfile, nodes: Sequence[Node], ranks: tuple[int, ...], depth: int) -> Iterator[Line]:
    for call in calls_of(profile, nodes):
        first = call[0]
        if first.symbol == LOOP:
            yield Line(depth, _times(first, depth), ranks)
            yield from _lines(profile, first.body, ranks, depth + 1)
        else:
            yield _line(profile, call, ranks, depth)


def calls_of(profile: LoopsProfile, nodes: Sequence[Node]) -> Iterator[list[Node]]:
    """Yield loops, and ops of one call together."""
    call: list[Node] = []
    for node in nodes:
        if call and (call[0].symbol == LOOP or not profile.flags(node) & Flag.CONTINUED):
            yield call
            call = []
        call.append(node)
    if call:
        yield call


def _line(profile: LoopsProfile, call: Sequence[Node], ranks: tuple[int, ...], depth: int) -> Line:
    first = call[0]
    times = "" if _is(first.repeated, ONCE) else _times(first, depth)
    said = sorted(filter(None, (_words(profile, node) for node in call)), key=lambda words: words.startswith("from"))
    more = f" … ({len(said)} messages)" if len(said) > _TOLD else ""
    along = _along(profile, first)
    words = " ".join(filter(None, (times, profile.name(first), ", ".join(said[:_TOLD]) + more, along)))
    made = profile.calls[first]
    return Line(depth, words, ranks, made, profile.seconds[first] / made, profile.site(first))


def _along(profile: LoopsProfile, node: Node) -> str:
    """State with which partners messages along the bits of the rank are exchanged."""
    if not profile.flags(node) & BITS:
        return ""
    there, back = ("to", "from") if profile.column("op", node) == Op.SEND else ("from", "to")
    return f"along bits ({there} rank ^ 2^k where bit k of the rank is set, else {back} it)"


def _words(profile: LoopsProfile, node: Node) -> str:
    """Return sizes and partners of an op in words."""
    if profile.flags(node) & BITS:
        sent = tuple(each for each in node.numbers["nbytes"] if each[0] != ZERO)  # those that send anything
        return _said(sent or node.numbers["nbytes"], _in_bytes)
    op, flags, numbers = Op(profile.column("op", node)), profile.flags(node), node.numbers
    said: list[str] = []
    if (op in _SIZED or op in COLLECTIVES) and not _is(numbers["nbytes"], ZERO):
        said.append(_said(numbers["nbytes"], _in_bytes))
    if op in _SENDS:
        said.append(f"to {_peer(node)}")
    elif op == Op.RMA:
        said.append(_at_target(node))
    elif op in _RECEIVES:
        said.append(f"from {_peer(node)}{' (any)' if flags & Flag.ANY_SOURCE else ''}")
    elif op in ROOTED:
        said.append(f"root {_peer(node)}")
    elif op == Op.WAIT and not _is(numbers["count"], ZERO) and not flags & Flag.CONTINUED:
        requests = _said(numbers["count"], _plain)
        said.append(f"for {requests} request{'s' * (requests != '1')}")
    elif op == Op.ALLTOALLV and ENTRIES in numbers:
        said.append(_said(numbers[ENTRIES], _in_bytes))
    if op not in COLLECTIVES and op != Op.RMA and not _is(numbers["tag"], ZERO):
        said.append(f"tag {_said(numbers['tag'], _plain)}")
    if not _is(numbers["comm"], ZERO) and op not in _ANYWHERE and not flags & Flag.CONTINUED:
        said.append(f"on {_said(numbers['comm'], partial(_communicator, profile))}")
    return " ".join(said)


def _at_target(node: Node) -> str:
    """Return target and data of a one-sided operation in words."""
    there, back = node.numbers["nbytes"], node.numbers.get(ENTRIES)
    if back is None:
        return f"{'' if _is(there, ZERO) else _said(there, _in_bytes) + ' '}to {_peer(node)}"
    if _is(there, ZERO):
        return f"{_said(back, _in_bytes)} from {_peer(node)}"
    return f"{_said(there, _in_bytes)} to {_peer(node)}, {_said(back, _in_bytes)} back"


def _peer(node: Node) -> str:
    relative = node.numbers.get("relative")
    return _said(node.numbers["peer"], _rank) if relative is None else _said(relative, _distance)


def _communicator(profile: LoopsProfile, number: int, sign: str | None = None) -> str:
    known = profile.loops.trace.head.communicators
    return str(number) if sign is not None or number >= len(known) else f"{known[number].name} {number}"


def _times(node: Node, depth: int) -> str:
    used = any(_varies(inner, depth) for inner in node.walk())
    return f"{_said(node.repeated, _plain)} ×{f' ({_ITERATIONS[depth % 26]} from 0)' if used else ''}"


def _is(variants: Variants, expression: Affine) -> bool:
    """Tell whether a number equals an expression on all ranks."""
    return [each for each, _ in variants] == [expression]


def _varies(node: Node, level: int) -> bool:
    """Tell whether a number of a node depends on the iteration of a loop."""
    expressions = (each for variants in (node.repeated, *node.numbers.values()) for each, _ in variants)
    return any(isinstance(each, Affine) and any(each.steps[level : level + 1]) for each in expressions)


# --- numbers in words ---

#: Formats a value, or with a second argument (a sign) a summand.
_Show = Callable[..., str]


def _said(variants: Variants, show: _Show) -> str:
    """Return a number in words, with the expression of most ranks first."""
    most, *others = sorted(variants, key=lambda variant: -len(variant[1]))
    if len(others) >= _TOLD:
        return _told_in_short(variants, show)
    rest = "; ".join(f"{_told(each, show)} on {ranks_text(ranks)}" for each, ranks in others)
    return _told(most[0], show) + (f" ({rest})" if rest else "")


def _told_in_short(variants: Variants, show: _Show) -> str:
    """Return a number that differs by rank in short: the value on most ranks, or its range."""
    bases = [each.base for each, _ in variants if is_constant(each)]
    if len(bases) == len(variants) and min(bases) > NO_NUMBER:
        return f"({show(min(bases))} to {show(max(bases))}, by rank)"
    most, ranks = max(variants, key=lambda variant: len(variant[1]))
    others = sum(len(each) for _, each in variants) - len(ranks)
    return f"{_told(most, show)} (else on {others} ranks)" if others <= len(ranks) else "(by rank)"


def _told(expression: Expression, show: _Show) -> str:
    if isinstance(expression, Table):
        return _listed(expression, show)
    factors = [*zip(expression.steps, _ITERATIONS, strict=False), (expression.per_rank, "rank")]
    terms = [_term(step, name, show) for step, name in factors if step]
    if expression.modulus:
        return _wrapped(expression, terms, show)
    if terms and not expression.base and show is not _distance:
        return " ".join(terms).removeprefix("+ ")
    return " ".join([show(expression.base), *terms])


def _wrapped(expression: Affine, terms: Sequence[str], show: _Show) -> str:
    """Return a number that wraps as its least value plus a remainder."""
    above = expression.base - expression.least
    inside = " ".join([*([show(above, "")] if above else []), *terms]).removeprefix("+ ")
    remainder = f"({inside}) mod {show(expression.modulus, '')}"
    return f"{show(expression.least)} + {remainder}" if expression.least or show is _distance else remainder


def _term(step: int, name: str, show: _Show) -> str:
    sign, size = "−" if step < 0 else "+", show(abs(step), "")
    return f"{sign} {name if size == '1' else f'{size}·{name}'}"


def _listed(table: Table, show: _Show) -> str:
    """Return the values of a table, or the first of them."""
    told: list[str] = []
    for count, first, step in table.pieces[:_TOLD]:
        last = show(first + (count - 1) * step)
        if not step:
            told.append(f"{count} × {show(first)}" if count > 1 else show(first))
        else:
            told += [show(first), last] if count == 2 else [f"{show(first)}, {show(first + step)} … {last}"]
    values = sum(count for count, _, _ in table.pieces)
    more = f" … ({format_number(values)} values)" if len(table.pieces) > _TOLD else ""
    return f"({', '.join(told)}{more})"


def _plain(number: int, sign: str | None = None) -> str:  # noqa: ARG001 - as others
    return format_number(number)


def _in_bytes(number: int, sign: str | None = None) -> str:  # noqa: ARG001
    return format_size(number)


def _rank(number: int, sign: str | None = None) -> str:
    return str(number) if sign is not None or number >= 0 else "nobody"


def _distance(number: int, sign: str | None = None) -> str:
    """Show a rank relative to the own rank."""
    if sign is not None:
        return str(number)
    if number < NO_NUMBER:
        return _rank(number + NO_PEER)
    return "rank" if not number else f"rank {'−' if number < 0 else '+'} {abs(number)}"
