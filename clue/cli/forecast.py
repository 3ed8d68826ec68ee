"""``clue forecast``: measure routines once, and forecast their run times under the current load."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from clue.cli.effects import refuse
from clue.cli.terminal import Volume, progress, say, show, show_json
from clue.cli.tokens import read_token, serving_token
from clue.config import load_machine, load_sequence
from clue.errors import ClueError, UsageError, written_at
from clue.forecasting import Forecaster, default_store, open_store
from clue.forecasting.adaptive import Goal
from clue.forecasting.asking import PORT
from clue.forecasting.availability import Availability
from clue.forecasting.benchmarking import benchmark
from clue.forecasting.parallel import Estimate, Pdgemm, Pdtrsm, Sequential, on_rate, ordered
from clue.forecasting.routes import Route
from clue.forecasting.routines import specification
from clue.forecasting.server import Server
from clue.listening import LOOPBACK
from clue.machine import Machine, SpeedCurve
from clue.report.forecast.document import (
    available_document,
    benchmark_document,
    best_document,
    forecast_document,
    need_document,
    sequence_document,
)
from clue.report.forecast.text import (
    available_text,
    benchmark_text,
    best_text,
    forecast_text,
    need_text,
    sequence_text,
)

#: Environment variable of the token, used if no file is named.
_TOKEN = "CLUE_FORECAST_TOKEN"
_SIZES = {"pdgemm": ("m", "n", "k"), "pdtrsm": ("m", "n")}


def run(arguments: argparse.Namespace) -> int:
    """Answer a question."""
    return {
        "benchmark": _benchmark, "time": _time, "need": _need, "available": _available, "best": _best,
        "sequence": _sequence, "serve": _serve,
    }[arguments.question](arguments)  # fmt: skip


def _benchmark(arguments: argparse.Namespace) -> int:
    for name in arguments.routines:
        specification(name)
    default = Goal()
    goal = Goal(
        arguments.error or default.error, arguments.points or default.points, arguments.seconds or default.seconds
    )
    ranges, found, failed = dict(arguments.range), [], []
    if len(ranges) < len(arguments.range):
        names = ", ".join(name for name, _ in arguments.range)
        raise UsageError(f"--range must be given once for each size, got {names}")
    with open_store(_store(arguments), make=True) as store, progress() as report:
        for name in arguments.routines:
            try:
                found.append(benchmark(name, store, ranges, goal, report))
            except ClueError as error:  # the other routines are still measured
                failed.append(error)
    if found and arguments.json:
        show_json(benchmark_document(found, str(_store(arguments))))
    elif found:
        show(benchmark_text(found, str(_store(arguments))))
    if failed:
        _fail(failed)
    return 0


def _fail(errors: Sequence[ClueError]) -> NoReturn:
    """Report all of several errors."""
    say([str(error) for error in errors[:-1]], prefix="clue: ", at=Volume.ERRORS)
    raise errors[-1]


def _time(arguments: argparse.Namespace) -> int:
    with _forecaster(arguments) as forecaster:
        found = forecaster.time(arguments.routine, _sizes(arguments), arguments.host)
    if arguments.json:
        say(found.warnings, prefix="clue: warning: ")
        show_json(forecast_document(found))
    else:
        show(forecast_text(found))
    return 0


def _need(arguments: argparse.Namespace) -> int:
    with _forecaster(arguments) as forecaster:
        host = forecaster.named(arguments.host)
        need, memory, warnings = forecaster.need(arguments.routine, _sizes(arguments), arguments.host)
    if arguments.json:
        say(warnings, prefix="clue: warning: ")
        show_json(need_document(arguments.routine, host, need, memory, warnings))
    else:
        show(need_text(arguments.routine, host, need, memory, warnings))
    return 0


def _available(arguments: argparse.Namespace) -> int:
    """Show what is available on the hosts that are known; the status is 1 if any requested host is unknown."""
    found, routes, silent = [], [], []
    with _forecaster(arguments) as forecaster:
        for host in arguments.host or [None]:
            try:
                found.append(forecaster.available(host))
                name = forecaster.named(host)
                if name != forecaster.host:
                    routes.append((name, *forecaster.route(forecaster.host, name)))
            except ClueError as error:
                silent.append(error)
    if not found:
        _fail(silent)
    warnings = [figure.stale for figure in found if figure.stale] + [str(error) for error in silent]
    warnings += [stale for *_, stale in routes if stale]
    if arguments.json:
        say(warnings, prefix="clue: warning: ")
        show_json(available_document(found, routes, warnings))
    else:
        show(available_text(found, routes, warnings))
    return 1 if silent else 0


def _best(arguments: argparse.Namespace) -> int:
    routine = _parallel(arguments)
    if arguments.machine is None and len(arguments.host) < 2:
        got = "one host" if arguments.host else "neither"
        raise UsageError(f"best must have --machine, or --host at least twice, got {got}")
    if arguments.machine is not None:
        refuse(arguments, ["--host", "--token-file", "--timeout"], "without --machine", arguments.machine)
    with _forecaster(arguments) as forecaster:
        asked = _of_machine if arguments.machine is not None else _of_hosts
        found, left_out, warnings = asked(routine, arguments, forecaster)
    if arguments.json:
        say(warnings, prefix="clue: warning: ")
        show_json(best_document(arguments.routine, found, left_out, warnings))
    else:
        show(best_text(arguments.routine, found, left_out, warnings))
    return 0


def _sequence(arguments: argparse.Namespace) -> int:
    plan = load_sequence(arguments.sequence)
    with _forecaster(arguments) as forecaster, written_at(arguments.sequence):
        found, warnings = forecaster.sequence(plan)
    if arguments.json:
        say(warnings, prefix="clue: warning: ")
        show_json(sequence_document(found, warnings))
    else:
        show(sequence_text(found, warnings))
    return 0


def _serve(arguments: argparse.Namespace) -> int:
    address = arguments.address or LOOPBACK
    token = serving_token(arguments, _TOKEN, address)
    port = PORT if arguments.port is None else arguments.port
    with _forecaster(arguments) as forecaster:
        for peer in arguments.peer:
            forecaster.named(peer)
        server = Server(forecaster, address, port, token=token, peers=arguments.peer, log=lambda line: say([line]))
        say([f"serving {forecaster.host} at {address} port {server.port}" + " with a token" * (token is not None)])
        with server:
            server.serve_forever()
    return 0


# --- grids ---


def _parallel(arguments: argparse.Namespace) -> Pdgemm | Pdtrsm:
    names = _SIZES.get(arguments.routine)
    if names is None:
        raise UsageError(f"routine must be {' or '.join(_SIZES)}, got {arguments.routine}")
    sizes, block = _sizes(arguments), arguments.block or 64
    if set(sizes) != set(names):
        raise UsageError(f"{arguments.routine}: sizes must be {', '.join(names)}, got {', '.join(sizes) or 'none'}")
    return Pdgemm(**sizes, block=block) if arguments.routine == "pdgemm" else Pdtrsm(**sizes, block=block)


def _of_machine(
    routine: Pdgemm | Pdtrsm, arguments: argparse.Namespace, forecaster: Forecaster
) -> tuple[list[Estimate], int, list[str]]:
    """Rank grids of a machine's processors, which must be identical, as in the paper."""
    machine = load_machine(arguments.machine)
    if len(machine.node_types()) > 1:
        kinds = ", ".join(machine.node_types())
        raise UsageError(f"{machine.name}: processors of a grid must be of one type, got {kinds}")
    most = _most(arguments, machine.processors, f"processors of {machine.name}")
    (node,) = machine.node_types().values()
    memory = None if node.memory is None else node.memory / node.processors
    warnings: dict[str, None] = {}
    if node.background_load or node.share_kept(node.processors, "dgemm") < 1:
        warnings[f"{machine.name}: background load and memory contention of its nodes are left out"] = None
    within, between = (machine.network.link(node.name, node.name, same_node) for same_node in (True, False))
    alone = len(machine.nodes) == 1
    if not alone and node.processors > 1 and within != between and most > 1:
        warnings[f"{machine.name}: messages within a node are taken to be like those between nodes"] = None
    sequential = _on_node(machine, arguments.routine, forecaster, warnings)
    route = Route.over(within if alone else between, routine.block**2 * 8.0)
    found, left_out = ordered(routine, most, sequential, route, memory)
    return found, left_out, list(warnings)


def _on_node(machine: Machine, name: str, forecaster: Forecaster, warnings: dict[str, None]) -> Sequential:
    """Return the times of sequential routines on a node: by its speed, else this computer's times its factor."""
    (node,) = machine.node_types().values()
    rate = node.speeds.get("dgemm") or node.speeds.get(name)
    if rate is not None:
        if not isinstance(rate, SpeedCurve):
            warnings[f"{machine.name}: sequential parts compute at one speed, whatever their size"] = None
        return on_rate(rate)

    def take(routine: str, /, **sizes: int) -> float:
        need, _, said = forecaster.need(routine, sizes)
        warnings.update(dict.fromkeys(said))
        return need.seconds * (node.factor(routine) or 1.0)

    return take


def _of_hosts(
    routine: Pdgemm | Pdtrsm, arguments: argparse.Namespace, forecaster: Forecaster
) -> tuple[list[Estimate], int, list[str]]:
    """Rank grids of hosts, all assumed to be as fast as the slowest of them is now."""
    hosts = [forecaster.named(host) for host in arguments.host]
    if len(set(hosts)) < len(hosts):
        raise UsageError(f"--host must name each host once, got {', '.join(arguments.host)}")
    most = _most(arguments, len(hosts), "hosts")
    figures = [forecaster.available(host) for host in hosts]
    there: list[Availability] = [figure.value for figure in figures]
    route, stale = forecaster.route(hosts[0], hosts[1])
    warnings = [each for each in (*(figure.stale for figure in figures), stale) if each]

    def take(routine: str, /, **sizes: int) -> float:
        needs = [forecaster.need(routine, sizes, host) for host in hosts]
        warnings.extend(each for *_, said in needs for each in said)
        return max(need.seconds / each.cpu for (need, *_), each in zip(needs, there, strict=True))

    memory = float(min(each.memory for each in there))
    found, left_out = ordered(routine, most, take, route, memory)
    return found, left_out, list(dict.fromkeys(warnings))


def _most(arguments: argparse.Namespace, there: int, what: str) -> int:
    """Return the largest number of processors of a grid: all that there are, or fewer if requested."""
    if (arguments.processes or 0) > there:
        raise UsageError(f"--processes must be at most the number of {what}, {there:,}, got {arguments.processes:,}")
    return arguments.processes or there


# --- requests, and who answers them ---


@contextmanager
def _forecaster(arguments: argparse.Namespace) -> Iterator[Forecaster]:
    with open_store(_store(arguments), make=True) as store:
        yield Forecaster(store, _token(arguments), arguments.timeout or 2.0)


def _store(arguments: argparse.Namespace) -> Path:
    return Path(arguments.store) if arguments.store else default_store()


def _sizes(arguments: argparse.Namespace) -> dict[str, int]:
    sizes = {name: getattr(arguments, name) for name in ("m", "n", "k") if getattr(arguments, name) is not None}
    for name, size in arguments.size:
        if name in sizes:
            raise UsageError(f"{name} must be given once, got {sizes[name]} and {size}")
        sizes[name] = size
    return sizes


def _token(arguments: argparse.Namespace) -> str | None:
    return read_token(arguments, _TOKEN)
