"""Uses of the hardware library: in nodes, networks and costs.

Each part is a file. A reference to a part supplies the part's keys; keys beside the reference take precedence.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path as FilePath

from clue.config.document import Document, Origin, Path, children, format_path, format_value, from_python
from clue.config.faults import Faults, did_you_mean, validated
from clue.config.part_schema import (
    PART_FORMS,
    BenchmarkForm,
    BenchmarksForm,
    FigureForm,
    NetworkPartForm,
    ProcessorPartForm,
    SwitchPartForm,
)
from clue.config.shipped_files import shipped, shipped_parts
from clue.config.sources import read_file
from clue.errors import ConfigError
from clue.files import is_file
from clue.machine.parts import BENCHMARKS, PREFIX, Figure, Processor, Sockets, Switch

AnyForm = ProcessorPartForm | NetworkPartForm | SwitchPartForm
#: Path of the link between nodes in the file of a machine.
_LINK: Path = ("network", "between_nodes")


@dataclass(frozen=True, slots=True)
class PartFile:
    """A part as read from its file.

    Attributes:
        key: Its name in the library, or its file.
        document: The contents of the file.
        form: The contents, checked.
    """

    key: str
    document: Document
    form: AnyForm

    @property
    def heading(self) -> tuple[str, str, str, str, tuple[str, ...]]:
        """Its key, name, source, date and notes."""
        form = self.form
        notes = (form.notes,) if isinstance(form.notes, str) else tuple(form.notes)  # a text is one note
        return self.key, form.name, form.source, form.date, notes

    def picked(self, keys: Sequence[str]) -> Document:
        """Return those of some top-level keys that it has, as a document."""
        assert isinstance(self.document.value, dict)
        kept = [key for key in keys if self.document.value.get(key) is not None]
        origins = {path: origin for path, origin in self.document.origins.items() if not path or path[0] in kept}
        return Document({key: self.document.value[key] for key in kept}, origins)


# --- finding and reading ---


def locate_part(text: str, base: FilePath) -> tuple[FilePath, str]:
    """Return a part's file and name, given a path from a folder or a name in the library (``parts/`` is optional).

    Raises:
        ValueError: If there is no such part; with rule and value, so that the caller can add the place.
    """
    if is_file(base / text):
        return base / text, text
    known = shipped_parts()
    name = text.removeprefix(PREFIX)
    if name in known:
        return known[name], PREFIX + name
    near = did_you_mean(name, known) or ": clue parts lists these"
    raise ValueError(f'must be a file or one of the parts shipped with clue, got "{text}"{near}')


def read_part(file: FilePath, key: str, faults: Faults) -> PartFile | None:
    """Read a part, or add its faults and return ``None``."""
    try:
        document = read_file(file)
    except ConfigError as error:
        faults.take(error)
        return None
    kind = document.value.get("kind") if isinstance(document.value, dict) else None
    if not isinstance(kind, str) or kind not in PART_FORMS:
        faults.add(document, ("kind",), f"must be {', '.join(PART_FORMS)}, got {format_value(kind)}")
        return None
    own = Faults()
    form = validated(PART_FORMS[kind], document, own)
    if form is not None:
        _check(document, form, own)
    faults.extend(own)
    return None if form is None or own else PartFile(key, document, form)


def _referred(document: Document, path: Path, kinds: Sequence[str], faults: Faults) -> PartFile | None:
    """Return the part named at a path, which must be of one of some kinds; else add the faults and return ``None``."""
    text = document.at(*path).value
    if not isinstance(text, str) or not text:
        return None
    origin, _ = document.nearest(path)
    try:
        found = read_part(*locate_part(text, FilePath(origin.file).parent if origin.file else FilePath()), faults)
    except ValueError as error:
        faults.add(document, path, str(error))
        return None
    if found is not None and found.form.kind not in kinds:
        faults.add(document, path, f'must be a {" or a ".join(kinds)}, got the {found.form.kind} "{text}"')
        return None
    return found


# --- rules over several keys ---


def _check(document: Document, form: AnyForm, faults: Faults) -> None:
    if isinstance(form, ProcessorPartForm):
        _check_processor(document, form, faults)
    elif isinstance(form, NetworkPartForm):
        _check_network(document, form, faults)
    else:
        for key in ("power", "price"):
            _check_missing(document, (key,), getattr(form, key) is not None, key in form.missing, faults)


def _check_processor(document: Document, form: ProcessorPartForm, faults: Faults) -> None:
    if form.clock.base is not None and form.clock.boost is not None and form.clock.boost < form.clock.base:
        rule = f"must be at least the base clock, {form.clock.base / 1e9:g} GHz, got {form.clock.boost / 1e9:g} GHz"
        faults.add(document, ("clock", "boost"), rule)
    for name in BENCHMARKS:
        figure = getattr(form.figures, name)
        _check_missing(document, ("figures", name), figure is not None, name in form.missing, faults)
        if isinstance(figure, BenchmarkForm) and (figure.cores or 1) > figure.sockets * form.cores:
            rule = f"must be at most those of {figure.sockets} sockets, {figure.sockets * form.cores}"
            faults.add(document, ("figures", name, "cores"), f"{rule}, got {figure.cores}")


def _check_missing(document: Document, path: Path, given: bool, excused: bool, faults: Faults) -> None:
    """Check that a figure is either given, or its reason is given under missing."""
    if given and excused:
        faults.add(document, ("missing", path[-1]), "must not be given with the figure, got both", of_key=True)
    if not given and not excused:
        faults.add(document, path, "must be given, or the reason under missing, got neither")


def _check_network(document: Document, form: NetworkPartForm, faults: Faults) -> None:
    line = form.latency is not None and form.bandwidth is not None
    if form.between_nodes is not None and form.machine is not None:
        faults.add(document, ("machine",), "must be given without between_nodes, got both", of_key=True)
    if form.between_nodes is None and form.machine is None and not line:
        faults.add(document, (), "must have between_nodes, machine, or latency and bandwidth, got none")
    if form.machine is None:
        return
    machines = shipped("machines")
    if form.machine not in machines:
        near = did_you_mean(form.machine, machines)
        faults.add(document, ("machine",), f'must be a machine shipped with clue, got "{form.machine}"{near}')
    elif _LINK not in read_file(machines[form.machine]).origins:
        faults.add(document, ("machine",), f'must be a machine that states {format_path(_LINK)}, got "{form.machine}"')


# --- values ---


def build_processor(part: PartFile) -> Processor:
    """Build a processor from its file."""
    form = part.form
    assert isinstance(form, ProcessorPartForm)
    memory = form.memory
    return Processor(
        *part.heading,
        {str(name): reason for name, reason in form.missing.items()},
        cores=form.cores,
        base_clock=form.clock.base,
        boost_clock=form.clock.boost,
        channels=None if memory is None else memory.channels,
        memory_rate=None if memory is None else memory.rate,
        flops_per_cycle=form.flops_per_cycle,
        power=form.power,
        price=form.price,
        names=tuple(form.names),
        figures=_benchmarks(form.figures, form.cores),
    )


def build_switch(part: PartFile) -> Switch:
    """Build a switch from its file."""
    form = part.form
    assert isinstance(form, SwitchPartForm)
    return Switch(
        *part.heading,
        {str(key): reason for key, reason in form.missing.items()},
        ports=form.ports,
        rate=form.rate,
        rack_units=form.rack_units,
        power=form.power,
        price=form.price,
    )


def figure_of(form: FigureForm, value: float, cores: int = 1) -> Figure:
    """Build a figure from its form."""
    return Figure(value, form.how == "measured", form.source, form.date, cores, form.note)


def _benchmarks(form: BenchmarksForm, cores: int) -> dict[str, Figure]:
    given = {name: getattr(form, name) for name in BENCHMARKS}
    return {
        name: figure_of(figure, figure.value, _cores(figure, cores))
        for name, figure in given.items()
        if figure is not None
    }


def _cores(figure: FigureForm, of_one: int) -> int:
    return (figure.cores or figure.sockets * of_one) if isinstance(figure, BenchmarkForm) else 1


# --- uses of parts ---


def with_parts(document: Document, faults: Faults) -> tuple[Document, dict[str, Sockets]]:
    """Return the document of a machine completed from its parts, and the processors of its node types by name."""
    sockets: dict[str, Sockets] = {}
    top = document.value
    if not isinstance(top, dict):
        return document, sockets
    types, network = top.get("node_types"), top.get("network")
    for name, node in types.items() if isinstance(types, dict) else ():
        if isinstance(node, dict):
            document = _with_processor(document, ("node_types", name), node, faults, sockets)
    if isinstance(network, dict) and "part" in network:
        part = _referred(document, ("network", "part"), ("network",), faults)
        if part is not None:
            link = link_document(part)
            origins = {(): link.origins[()]} | {("between_nodes", *path): each for path, each in link.origins.items()}
            derived = Document({"between_nodes": link.value}, origins)
            document = document.replaced(("network",), derived.overlaid(document.at("network").stated))
    return document, sockets


def _with_processor(
    document: Document, path: Path, node: dict[object, object], faults: Faults, sockets: dict[str, Sockets]
) -> Document:
    if "processor" not in node:
        if "sockets" in node:
            faults.add(document, (*path, "sockets"), "must be given with a processor, got none", of_key=True)
        return document
    part = _referred(document, (*path, "processor"), ("processor",), faults)
    if part is None:
        return document
    number = node.get("sockets", 1)
    found = Sockets(build_processor(part), number if isinstance(number, int) and number > 0 else 1)
    sockets[str(path[-1])] = found
    value = {"processors": found.cores, "source": f"{found.number} × {part.form.name}: {part.form.source}"}
    top, cores, source = (part.document.origins[path] for path in ((), ("cores",), ("source",)))
    derived = Document(value, {(): top, ("processors",): cores, ("source",): source})
    return document.replaced(path, derived.overlaid(document.at(*path).stated))


def link_document(part: PartFile) -> Document:
    """Return the link between nodes of a network: its curve, or latency and bandwidth.

    From latency and bandwidth it is built so that a stream of messages has the bandwidth, and an empty message has the
    latency: the send delay is size / bandwidth, the transmission delay is the latency.
    """
    form = part.form
    assert isinstance(form, NetworkPartForm)
    if form.between_nodes is not None:
        return part.document.at("between_nodes")
    if form.machine is not None:
        return read_file(shipped("machines")[form.machine]).at(*_LINK)
    latency, bandwidth = (part.document.at(key, "value").value for key in ("latency", "bandwidth"))
    line = {"send_delay": {"latency": "0 s", "bandwidth": bandwidth}, "transmission_delay": latency}
    return from_python(line, part.document.file)


def link_from(form: NetworkPartForm) -> str:
    """Return the source of a network's link, in words."""
    if form.between_nodes is not None:
        return "published curve"
    if form.machine is not None:
        return f"that of {form.machine}"
    return "computed: latency + size / bandwidth"


def _busy(derived: Document) -> Document:
    """Return a part's document with its power as the busy power, for costs that state an idle power."""
    assert isinstance(derived.value, dict)
    if "power" not in derived.value:
        return derived
    origin = derived.origins["power",]
    value = derived.value | {"power": {"busy": derived.value["power"]}}
    origins: dict[Path, Origin] = {**derived.origins, ("power", "busy"): origin}
    return Document(value, origins)


#: Keys that a part of an option's costs takes from the library, by kind.
_COSTS = {"processor": ("power",), "switch": ("power", "rack_units", "ports")}
_NUMBERS = ("count", "per_node", "ports", "per_rack")


def with_block(laid: Document, block: Document) -> Document:
    """Return blocks of costs with another one overlaid on them.

    Another part of the library replaces the keys that it supplies, even if it has no figure for them: those of the
    blocks before are of other hardware. Wrong references are reported by :func:`with_cost_parts`.
    """
    return _without_replaced(laid, block).overlaid(block)


def with_comparison(document: Document, overlay: Document) -> Document:
    """Return a comparison with another one overlaid on it, their blocks of costs as by :func:`with_block`."""
    for path in _paths_of_blocks(overlay.value):
        laid, block = _found(document, path), _found(overlay, path)
        if laid is not None and block is not None:
            document = document.replaced(path, _without_replaced(laid, block))
    return document.overlaid(overlay)


def _paths_of_blocks(value: object) -> Iterator[Path]:
    """Yield the paths at which a comparison may have blocks of costs."""
    top = value if isinstance(value, dict) else {}
    for name, _ in children(top.get("costs")):
        yield "costs", name
    for name, _ in children(top.get("options")):
        yield "options", name, "cost"
    yield "generate", "cost"


def _found(document: Document, path: Path) -> Document | None:
    """Return the part of a document under a path through mappings; ``None`` if there is none."""
    value = document.value
    for step in path:
        if not isinstance(value, dict) or step not in value:
            return None
        value = value[step]
    return document.at(*path)


def _without_replaced(laid: Document, block: Document) -> Document:
    """Return blocks of costs without the keys that parts of the library in another block replace."""
    below = laid.value.get("parts") if isinstance(laid.value, dict) else None
    above = block.value.get("parts") if isinstance(block.value, dict) else None
    known = below if isinstance(below, dict) else {}
    for name, written in above.items() if isinstance(above, dict) else ():
        before = known.get(name)
        if not isinstance(written, dict) or not isinstance(before, dict) or written.get("part") == before.get("part"):
            continue
        path: Path = ("parts", name)
        part = _referred(block, (*path, "part"), tuple(_COSTS), Faults()) if "part" in written else None
        if part is not None:
            laid = laid.replaced(path, _without_supplied(laid.at(*path), part.form.kind))
    return laid


def _without_supplied(written: Document, kind: str) -> Document:
    """Return a part of costs without the keys that the library supplies; of idle and busy power, that is the busy."""
    assert isinstance(written.value, dict)
    if not isinstance(written.value.get("power"), dict):
        return written.without(*_COSTS[kind])
    idle = written.at("power").without("busy")
    return written.without(*(key for key in _COSTS[kind] if key != "power")).replaced(("power",), idle)


def with_cost_parts(document: Document, faults: Faults) -> Document:
    """Return the document of costs completed from the library, for parts that refer to it: power, rack units, ports.

    Prices are not taken from the library: that of a processor is usually part of the price of its node.
    """
    top = document.value
    parts = top.get("parts") if isinstance(top, dict) else None
    for name, written in parts.items() if isinstance(parts, dict) else ():
        if not isinstance(written, dict) or "part" not in written:
            continue
        path: Path = ("parts", name)
        part = _referred(document, (*path, "part"), tuple(_COSTS), faults)
        if part is None:
            continue
        numbered = any(key in written for key in _NUMBERS)
        derived = part.picked([key for key in _COSTS[part.form.kind] if key != "ports" or not numbered])
        drawn = written.get("power")
        if isinstance(drawn, dict):
            derived = _busy(derived)
        if getattr(part.form, "power", None) is None and (
            drawn is None or (isinstance(drawn, dict) and "busy" not in drawn)
        ):
            rule = f"must be given, as it is unknown for {part.form.name}, got nothing"
            faults.add(document, (*path, "power"), rule)
        document = document.replaced(path, derived.overlaid(document.at(*path).stated))
    return document
