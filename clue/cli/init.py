"""``clue init``: ask a few questions, and write a first configuration that ``clue simulate`` takes at once."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Callable
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import TypeVar

from clue.cli.init_arguments import EXAMPLE
from clue.cli.streams import tell
from clue.cli.terminal import output_file, say, show
from clue.config import find, load_machine, shipped
from clue.config.starter import Starter, comparison_text, machine_text
from clue.errors import ClueError, UsageError
from clue.files import exists, is_file, read_bytes, write_texts
from clue.machine import MOST_RANKS
from clue.trace import Trace
from clue.units import Quantity, count_of, format_size, parse_money, parse_quantity

_Answer = TypeVar("_Answer")
_LATENCY, _BANDWIDTH = "20 us", "10 Gbit/s"
#: The recording that clue ships for those who have none.
_SHIPPED = "pingpong-2.clue.zip"
_LARGEST = 10**6
_NONE = "none"


@dataclass(frozen=True, slots=True)
class _Program:
    """What has to run: a script, or a trace and its number of ranks."""

    path: Path
    ranks: int | None

    @property
    def is_shipped(self) -> bool:
        """Whether it is the example, of which a copy is made."""
        return self.path == _example()


def run(arguments: argparse.Namespace) -> int:
    """Ask what is not given, write both files, and say what runs them."""
    config = output_file(arguments.config)
    machine = config.with_name(f"{config.stem}-machine.yaml")
    copy = config.with_name(_SHIPPED)
    for path in (config, machine):
        _refuse_to_overwrite(path)
    questions = _Questions(arguments)
    program = questions.program(config.parent)
    if program.is_shipped:
        _refuse_to_overwrite(copy)
    starter = _starter(questions, program, copy if program.is_shipped else program.path, config)
    command = f"clue simulate {shlex.quote(str(config))}"
    texts = {machine: machine_text(starter), config: comparison_text(starter, machine.name, command)}
    if program.is_shipped:
        copy.write_bytes(read_bytes(program.path, most=_LARGEST))
    write_texts(texts)
    say([f"wrote {path}" for path in ([copy] if program.is_shipped else []) + list(texts)])
    show(command)
    return 0


def _refuse_to_overwrite(path: Path) -> None:
    if exists(path):
        raise UsageError(f"{path}: file must not exist yet, got one: name another one, or remove it")


def _starter(questions: _Questions, program: _Program, path: Path, config: Path) -> Starter:
    recorded = program.ranks is not None
    processors = questions.ask("processors", "Processors (CPU cores) of a node", str(_processors()), _count)
    memory = questions.ask("memory", "Memory of a node, or none", _memory(), _or_none(_quantity(Quantity.SIZE)))
    latency = questions.ask(
        "latency", "What a short message between nodes takes one way", _LATENCY, _quantity(Quantity.TIME)
    )
    bandwidth = questions.ask("bandwidth", "Bandwidth between nodes", _BANDWIDTH, _quantity(Quantity.BANDWIDTH))
    least = ceil((program.ranks or 1) / processors)
    nodes = questions.ask(
        "nodes",
        "Numbers of nodes to compare",
        f"{least},{2 * least}",
        _room(least, program.ranks, processors),
    )
    price = questions.ask("price", "Price of a node, or none", _NONE, _or_none(_price))
    budget = questions.ask("budget", "Budget, or none", _NONE, _or_none(_price)) if price else ""
    other = questions.ask("other", "Another machine: a file, a shipped name, or none", _NONE, _machine(config.parent))
    return Starter(
        name=config.stem,
        workload=path.name.partition(".")[0] or "program",
        program=_seen_from(config.parent, path),
        recorded=recorded,
        arguments=() if recorded else questions.ask("args", "Arguments of the program", "", _words),
        ranks=(program.ranks,)
        if program.ranks is not None
        else questions.ask("ranks", "Numbers of ranks to choose from", _powers(_processors()), _counts),
        processors=processors,
        memory=memory,
        latency=latency,
        bandwidth=bandwidth,
        nodes=nodes,
        price=price,
        budget=budget,
        other=other,
    )


class _Questions:
    """Asks for what was not given, until the answer will do."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self._arguments = arguments
        self._asks = not arguments.yes

    def program(self, folder: Path) -> _Program:
        """Return what has to run, and refuse options that go with another kind of program or with a price.

        Raises:
            UsageError: If an option has no effect.
        """
        words = f"Program (.py) or recording (.clue) that has to run; {EXAMPLE}: a recorded ping-pong"
        program = self.ask("program", words, _only_one(folder), _program)
        if program.ranks is not None:
            for name in ("args", "ranks"):
                if getattr(self._arguments, name) is not None:
                    raise UsageError(f"init: --{name} must go with a program, got the recording {program.path}")
        if self._arguments.budget not in (None, _NONE) and self._arguments.price in (None, _NONE):
            raise UsageError("init: --budget must go with --price, got none")
        return program

    def ask(self, name: str, words: str, default: str, parse: Callable[[str], _Answer]) -> _Answer:
        """Return the answer to a question: as given, by default, or as somebody types it.

        Raises:
            UsageError: If the given one will not do, or nobody can be asked.
        """
        given = getattr(self._arguments, name)
        if given is not None or not self._asks:
            try:
                return parse(default if given is None else given)
            except (ValueError, ClueError) as error:
                raise UsageError(f"init: --{name} {error}") from None
        if sys.stdin is None or not sys.stdin.isatty():
            raise UsageError(f"init: --{name} must be given where nobody can be asked, or --yes for defaults, got neither")
        while True:
            print(f"{words} [{default}]: ", end="", file=sys.stderr, flush=True)
            line = sys.stdin.readline()
            if not line:
                raise UsageError(f"init: {name} must be answered, got the end of input; nothing was written")
            try:
                return parse(line.strip() or default)
            except (ValueError, ClueError) as error:
                tell([f"{name} {error}"])


# --- what answers may be; each raises ValueError with the rule and the value ---


def _program(text: str) -> _Program:
    if text == EXAMPLE and not exists(Path(text)):
        return _Program(_example(), 2)
    path = Path(text)
    if path.suffix == ".py":
        if not is_file(path):
            raise ValueError(f"must be a file that exists, got {text!r}")
        return _Program(path, None)
    if not exists(path):
        raise ValueError(f"must be a program (.py) or a recording that exists, got {text!r}")
    return _Program(path, Trace.open(path).ranks)


def _count(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text[:9]) <= _LARGEST:
        raise ValueError(f"must be a whole number from 1 to {_LARGEST:,}, got {text!r}")
    return int(text)


def _counts(text: str) -> tuple[int, ...]:
    try:
        return tuple(sorted({_count(word.strip()) for word in text.split(",")}))
    except ValueError:
        rule = f"must be whole numbers from 1 to {_LARGEST:,}, with commas between"
        raise ValueError(f"{rule}, got {text!r}") from None


def _room(least: int, ranks: int | None, processors: int) -> Callable[[str], tuple[int, ...]]:
    def parse(text: str) -> tuple[int, ...]:
        counts = _counts(text)
        if counts[-1] * processors > MOST_RANKS:
            raise ValueError(f"must have at most {MOST_RANKS:,} processors in all, got {text!r}")
        if counts[-1] < least:
            needs = f"{count_of(ranks or 1)} of the recording, {count_of(processors, 'processor')} a node"
            raise ValueError(f"must have room for {needs}: {least} or more, got {text!r}")
        return counts

    return parse


def _quantity(quantity: Quantity) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if parse_quantity(text, quantity) == 0:
            raise ValueError(f"must be {quantity.title} above 0, got {text!r}")
        return text

    return parse


def _price(text: str) -> str:
    parse_money(text)
    return text


def _or_none(parse: Callable[[str], str]) -> Callable[[str], str]:
    return lambda text: "" if text.lower() == _NONE else parse(text)


def _machine(folder: Path) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text.lower() == _NONE:
            return ""
        load_machine(text)
        return text if not is_file(Path(text)) and find(text, ("machines",)) else _seen_from(folder, Path(text))

    return parse


def _words(text: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise ValueError(f"must be words as a shell takes them, got {text!r} ({error})") from None


# --- what is here ---


def _only_one(folder: Path) -> str:
    """Return the only recording of a folder, else its only program, else the example."""
    for patterns in (("*.clue", "*.clue.zip"), ("*.py",)):
        found = [path for pattern in patterns for path in sorted(folder.glob(pattern))]
        if len(found) == 1:
            return str(found[0])
    return EXAMPLE


def _example() -> Path:
    return shipped("scenarios")["pingpong"].parent / "traces" / _SHIPPED


def _seen_from(folder: Path, path: Path) -> str:
    return os.path.relpath(path, folder or Path())


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _memory() -> str:
    """Return the memory of this computer in words that YAML reads back."""
    try:
        return format_size(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (ValueError, OSError):
        return _NONE


def _powers(most: int) -> str:
    return ",".join(str(2**i) for i in range(most.bit_length()) if 2**i <= most)
