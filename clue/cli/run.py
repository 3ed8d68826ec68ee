"""``clue run``: run a program in virtual time, on a machine or on every option of a comparison."""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from clue.cli.effects import refuse
from clue.cli.options import counted
from clue.cli.programs import is_program, meant_for_clue, without_dashes
from clue.cli.results import plot_ranking, plot_result, show_ranking, show_result, status_of
from clue.cli.terminal import check_different, check_plots, output_trace, progress, say
from clue.config import PlacementChoice, SimulationConfig, load_config, load_machine
from clue.errors import UsageError, written_at
from clue.execution import LiveRun
from clue.execution import run as run_live
from clue.execution.bursts import MEASURED, Bursts, Declared, Replayed, Synthetic
from clue.machine import Machine, Placement
from clue.predict.application import PLACEHOLDER, Application
from clue.predict.prediction import Task
from clue.programs import check_program, program_name
from clue.purchase import Scenario
from clue.result import Result
from clue.trace import Trace
from clue.units import Quantity, parse_quantity

_STANDARD_ERROR = 2


def run(arguments: argparse.Namespace) -> int:
    """Run the program of the command line or the configuration, and show the result."""
    check_plots(arguments.plots)
    if arguments.plots is None:
        refuse(arguments, ["--window"], "with --plots", "no folder for plots")
    if arguments.record is not None:
        check_different([("--record", Path(arguments.record))], arguments.plots)
    words = without_dashes(arguments.words)
    if not words:
        raise UsageError("run must have a configuration or a program, got neither")
    if is_program(words[0]):
        refuse(arguments, ["--full"], "with a configuration", words[0])
        say(meant_for_clue(words), prefix="clue: warning: ")
        _run_one(_from_words(words, arguments), arguments)
        return 0
    if len(words) > 1:
        raise UsageError(f"run must have one configuration, or a program that ends in .py, got {' '.join(words)}")
    config = load_config(words[0], full=arguments.full)
    if isinstance(config, Scenario):
        return _compare(config, arguments)
    _run_one(_from_config(config, arguments), arguments)
    return 0


@dataclass(frozen=True, slots=True)
class _Run:
    """A program and its machine.

    Attributes:
        command: Command line of the program.
        ranks: Number of ranks.
        machine: The machine.
        placement: Where ranks are placed.
        place: Where a file states the placement, ``FILE:LINE:COLUMN``; empty if it does not.
        read: Files of the program that a configuration names.
    """

    command: tuple[str, ...]
    ranks: int
    machine: Machine
    placement: PlacementChoice
    place: str = ""
    read: tuple[Path, ...] = ()

    @property
    def title(self) -> str:
        """The title of its result."""
        return f"{program_name(self.command)} on {self.machine.name}, run live"


def _from_words(words: Sequence[str], arguments: argparse.Namespace) -> _Run:
    for option, value in (("-n", arguments.ranks), ("--machine", arguments.machine)):
        if value is None:
            raise UsageError(f"{words[0]}: {option} must be given before a program, got none")
    check_program(words)
    return _Run(tuple(words), arguments.ranks, load_machine(arguments.machine), _placement(arguments.placement))


def _from_config(config: SimulationConfig, arguments: argparse.Namespace) -> _Run:
    if config.instances > 1:
        raise UsageError(f"{config.place_of('instances')}: instances must be 1 in a live run, got {config.instances}")
    ranks = arguments.ranks or config.ranks
    if ranks is None:
        assert config.program.trace is not None
        ranks = Trace.open(config.program.trace).ranks
    machine = config.machine if arguments.machine is None else load_machine(arguments.machine)
    placement = config.placement if arguments.placement is None else _placement(arguments.placement)
    command = command_of(config.program, ranks, config.program.place or config.name)
    is_written = arguments.ranks is None and arguments.placement is None
    place = config.place_of("placement") if is_written else ""
    return _Run(command, ranks, machine, placement, place, tuple(config.program.files([ranks])))


def command_of(application: Application, ranks: int, name: str) -> tuple[str, ...]:
    """Return the command line of a program for a number of ranks.

    Raises:
        UsageError: If it has a trace only.
    """
    if application.script is None:
        raise UsageError(f"{name}: program must have a script to run live, got a trace only: use clue simulate")
    return (str(application.script), *(word.replace(PLACEHOLDER, str(ranks)) for word in application.arguments))


def _placement(text: str | None) -> PlacementChoice:
    """Read ``block``, ``cyclic:2`` or ``0,1,1``."""
    if text is None:
        return PlacementChoice()
    order, _, words = text.partition(":")
    each = counted(words or "1")
    if order in {"block", "cyclic"} and each:
        return PlacementChoice(order, each)
    nodes = [counted(node) for node in text.split(",")]
    known = tuple(node for node in nodes if node is not None)
    if len(known) == len(nodes):
        return PlacementChoice(nodes=known)
    raise UsageError(f"placement must be block, cyclic, block:2 or node indices such as 0,0,1, got {text}")


def _bursts(text: str | None) -> Bursts:
    """Read the source of bursts: ``synthetic``, a speed for declared operations, or a trace."""
    if text is None:
        return MEASURED
    if text == "synthetic":
        return Synthetic()
    if text.endswith("/s"):
        try:
            return Declared(parse_quantity(text, Quantity.SPEED))
        except ValueError as error:
            raise UsageError(f"bursts {error}") from None
    return Replayed(Trace.open(text))


# --- one program on one machine ---


def _run_one(run: _Run, arguments: argparse.Namespace) -> None:
    with written_at(run.place):
        placement = run.placement.place(run.machine, run.ranks)
    if arguments.record is not None:
        output_trace(arguments.record, [*_read(arguments), *run.read])  # before time is spent on the run
    bursts = _bursts(arguments.bursts)
    # The program's output would overwrite a progress bar.
    with progress(bar=False) as tell:
        tell(f"running {run.title}")
        outcome = _live(run, placement, bursts, arguments)
    show_result(outcome.result, run.title, arguments)
    if outcome.trace is not None:
        outcome.trace.save(arguments.record)
        say([f"wrote {arguments.record}"])
    say([f"wrote {path}" for path in plot_result(outcome.result, run.machine, run.title, arguments)])


def _read(arguments: argparse.Namespace) -> list[str]:
    """Return the names of files that are read; some values name none."""
    return [each for each in (arguments.machine, arguments.bursts, *arguments.words[:1]) if each is not None]


def _live(
    run: _Run, placement: Placement, bursts: Bursts, arguments: argparse.Namespace, stdin: int | None = None
) -> LiveRun:
    pictures = arguments.plots is not None
    # Output so far must precede the program's output.
    sys.stdout.flush()
    return run_live(
        run.command,
        run.ranks,
        run.machine,
        placement,
        timeline=pictures,
        traffic=pictures,
        record=arguments.record is not None,
        bursts=bursts,
        virtual_clock=arguments.virtual_clock,
        limit=arguments.limit,
        tell=lambda line: say([line], prefix="clue: "),
        stdout=_STANDARD_ERROR if arguments.json else None,
        stdin=stdin,
    )


# --- a comparison ---


def _compare(scenario: Scenario, arguments: argparse.Namespace) -> int:
    """Run the programs of a comparison live on every option, and rank the options."""
    single = ["-n", "--machine", "--placement", "--record", "--window"]
    refuse(arguments, single, "with one program on one machine", "a comparison", scenario.name)
    from clue.predict.dispatching import DispatchingPredictor  # noqa: PLC0415 - only for comparisons
    from clue.predict.executing import LivePredictor  # noqa: PLC0415 - only for comparisons
    from clue.predict.measuring import SkeletonPredictor  # noqa: PLC0415 - only for comparisons
    from clue.purchase import rank_options  # noqa: PLC0415 - only for comparisons

    bursts = _bursts(arguments.bursts)

    def live(task: Task) -> Result:
        (application, ranks), where = task.key, task.where
        run = _Run(command_of(application, ranks, scenario.name), ranks, where.machine, PlacementChoice())
        # The first of many runs would use up this process's.
        return _live(run, where.placement, bursts, arguments, subprocess.DEVNULL).result

    # The programs' output would overwrite a progress bar.
    with progress(bar=False) as tell:
        predictor = DispatchingPredictor([SkeletonPredictor()], LivePredictor(live))
        ranking = rank_options(scenario, predictor, tell, thorough=arguments.plots is not None)
    show_ranking(ranking, arguments)
    say([f"wrote {path}" for path in plot_ranking(ranking, arguments)])
    return status_of(ranking, scenario.place)
