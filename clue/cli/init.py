"""``clue init``: ask a few questions, and write a first configuration that ``clue simulate`` can run at once."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import TypeVar

from clue.cli.effects import refuse
from clue.cli.init_arguments import EXAMPLE
from clue.cli.streams import tell
from clue.cli.terminal import output_file, say
from clue.config import find, load_machine, shipped
from clue.config.starter import Starter, comparison_text, machine_text
from clue.errors import ClueError, UsageError
from clue.files import drafts, exists, is_file, read_bytes, write_texts
from clue.machine import MOST_RANKS
from clue.recording import repeats_beside
from clue.trace import Trace
from clue.trace.computer import usable_processors
from clue.units import Quantity, count_of, format_size, parse_money, parse_quantity

_Answer = TypeVar("_Answer")
#: The recording shipped with clue, for users without one.
_SHIPPED = "pingpong-2.clue.zip"
_LARGEST = 10**6
_NONE = "none"


@dataclass(frozen=True, slots=True)
class _Program:
    """The program to run: a script, or a trace and its number of ranks."""

    path: Path
    ranks: int | None

    @property
    def is_shipped(self) -> bool:
        """Whether it is the example, which is copied."""
        return self.path == _example()


def run(arguments: argparse.Namespace) -> int:
    """Ask for what is not given, write both files, and print the command that runs them."""
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
        with drafts(copy) as (draft,):
            draft.write_bytes(read_bytes(program.path, most=_LARGEST))
    write_texts(texts)
    say([f"wrote {path}" for path in ([copy] if program.is_shipped else []) + list(texts)])
    # Meant to be copied: unbroken, on one line, whatever its length.
    print(command)
    return 0


def _refuse_to_overwrite(path: Path) -> None:
    if exists(path):
        raise UsageError(f"{path}: file must not exist yet, got one: name another, or remove it")


def _starter(questions: _Questions, program: _Program, path: Path, config: Path) -> Starter:
    """Ask all further questions; ``path`` is the program's path once everything is written."""
    ask, here = questions.ask, usable_processors()
    ranks: tuple[int, ...] = (program.ranks or 1,)
    arguments: tuple[str, ...] = ()
    if program.ranks is None:
        arguments = ask("args", "Arguments of the program", "", _words)
        ranks = ask("ranks", "Numbers of ranks to choose from", _powers(here), _counts)
    processors = ask("processors", "Processors (CPU cores) of a node", str(here), _count)
    least = ceil(ranks[0] / processors)
    return Starter(
        name=config.stem,
        workload=path.name.partition(".")[0] or "program",
        program=_seen_from(config.parent, path),
        recorded=program.ranks is not None,
        arguments=arguments,
        ranks=ranks,
        processors=processors,
        memory=ask("memory", "Memory of a node, or none", _memory(), _size),
        latency=ask("latency", "One-way latency of a short message between nodes", "20 us", _time),
        bandwidth=ask("bandwidth", "Bandwidth between nodes", "10 Gbit/s", _bandwidth),
        nodes=ask("nodes", "Numbers of nodes to compare", f"{least},{2 * least}", _room(least, ranks[0], processors)),
        price=(price := ask("price", "Price of a node, or none", _NONE, _price)),
        budget=ask("budget", "Budget, or none", _NONE, _budget(price)) if price else "",
        other=_machine_seen_from(
            config.parent, ask("other", "Another machine: a file, a shipped name, or none", _NONE, _machine)
        ),
    )


class _Questions:
    """Asks for what was not given, until the answer is valid.

    Raises:
        UsageError: With all invalid options.
    """

    def __init__(self, arguments: argparse.Namespace) -> None:
        self._arguments = arguments
        self._explained = False
        faults = [fault for name, parse in _PARSERS.items() for fault in self._faults(name, parse)]
        price, budget = (self._given(name) or _NONE for name in ("price", "budget"))
        if budget.lower() != _NONE and price.lower() == _NONE:
            faults.append("init: --budget must go with --price, got none")
        elif not faults:
            faults += self._faults("budget", _budget(price))
        if faults:
            raise UsageError(faults)

    def program(self, folder: Path) -> _Program:
        """Return the program to run.

        Raises:
            UsageError: If it is invalid, or other options do not go with it.
        """
        words = f"Program (.py) or recording (.clue) to run; {EXAMPLE}: a recorded ping-pong"
        program = self.ask("program", words, _only_one(folder), _program)
        if program.ranks is not None:
            refuse(self._arguments, ["--args", "--ranks"], "with a program", f"the recording {program.path}", "init")
        return program

    def ask(self, name: str, words: str, default: str, parse: Callable[[str], _Answer]) -> _Answer:
        """Return the answer to a question: as given by an option, by default, or typed.

        Raises:
            UsageError: If the option is invalid, or no user can be asked.
        """
        given = self._given(name)
        if given is not None or self._arguments.yes:
            try:
                return parse(default if given is None else given)
            except (ValueError, ClueError) as error:
                raise UsageError(f"init: --{name} {error}") from None
        if sys.stdin is None or not sys.stdin.isatty():
            raise UsageError(
                f"init: --{name} must be given if standard input is no terminal, or --yes for defaults, got neither"
            )
        if not self._explained:
            self._explained = True
            tell(["An empty line accepts the default in brackets; Ctrl-C ends without writing anything."], prefix="")
        while True:
            print(f"{words} [{default}]: ", end="", file=sys.stderr, flush=True)
            line = sys.stdin.readline()
            if not line:
                raise UsageError(f"init: {name} must be answered, got the end of input; nothing was written")
            try:
                return parse(line.strip() or default)
            except (ValueError, ClueError) as error:
                tell([f"{name} {error}"])

    def _given(self, name: str) -> str | None:
        given = getattr(self._arguments, name)
        assert given is None or isinstance(given, str)
        return given

    def _faults(self, name: str, parse: Callable[[str], object]) -> Iterator[str]:
        given = self._given(name)
        try:
            if given is not None:
                parse(given)
        except (ValueError, ClueError) as error:
            yield f"init: --{name} {error}"


# --- parsers of answers; each raises ValueError with the rule and the value ---


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


def _room(least: int, ranks: int, processors: int) -> Callable[[str], tuple[int, ...]]:
    def parse(text: str) -> tuple[int, ...]:
        counts = _counts(text)
        if counts[-1] * processors > MOST_RANKS:
            raise ValueError(f"must have at most {MOST_RANKS:,} processors in all, got {text!r}")
        if counts[-1] < least:
            has = f"{count_of(ranks)} on nodes of {count_of(processors, 'processor')}"
            raise ValueError(f"must have {least} or more among them, for {has}, got {text!r}")
        return counts

    return parse


def _quantity(text: str, quantity: Quantity) -> str:
    if parse_quantity(text, quantity) == 0:
        raise ValueError(f"must be {quantity.title} above 0, got {text!r}")
    return text


def _time(text: str) -> str:
    return _quantity(text, Quantity.TIME)


def _bandwidth(text: str) -> str:
    return _quantity(text, Quantity.BANDWIDTH)


def _size(text: str) -> str:
    return "" if text.lower() == _NONE else _quantity(text, Quantity.SIZE)


def _price(text: str) -> str:
    if text.lower() == _NONE:
        return ""
    parse_money(text)
    return text


def _budget(price: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if not (found := _price(text)):
            return ""
        budget, known = parse_money(found), parse_money(price).currency
        if budget.currency != known:
            raise ValueError(f"must be in {known}, as the price is, got {text!r}")
        if budget.deviation:
            raise ValueError(f"must be an amount without a spread, got {text!r}")
        return found

    return parse


def _machine(text: str) -> str:
    if text.lower() == _NONE:
        return ""
    load_machine(text)
    return text


def _words(text: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise ValueError(f"must be words in shell syntax, got {text!r} ({error})") from None


#: Parser of each option's value, independent of the others.
_PARSERS: dict[str, Callable[[str], object]] = {
    "program": _program,
    "args": _words,
    "ranks": _counts,
    "processors": _count,
    "memory": _size,
    "latency": _time,
    "bandwidth": _bandwidth,
    "nodes": _counts,
    "price": _price,
    "budget": _price,
    "other": _machine,
}


# --- defaults from this computer ---


def _only_one(folder: Path) -> str:
    """Return the only recording in a folder, whatever its number of repeats, else the example."""
    found = {*folder.glob("*.clue"), *folder.glob("*.clue.zip")}
    firsts = found - {repeat for path in found for repeat in repeats_beside(path)}
    return str(firsts.pop()) if len(firsts) == 1 else EXAMPLE


def _example() -> Path:
    return shipped("scenarios")["pingpong"].parent / "traces" / _SHIPPED


def _machine_seen_from(folder: Path, machine: str) -> str:
    """Return how a file in a folder names a machine: by its shipped name, or by its path from there."""
    if not machine or (not is_file(Path(machine)) and find(machine, ("machines",))):
        return machine
    return _seen_from(folder, Path(machine))


def _seen_from(folder: Path, path: Path) -> str:
    return os.path.relpath(str(path), str(folder))


def _memory() -> str:
    """Return the memory of this computer as text for YAML."""
    try:
        return format_size(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (ValueError, OSError):
        return _NONE


def _powers(most: int) -> str:
    return ",".join(str(2**i) for i in range(most.bit_length()) if 2**i <= most)
