"""Caveats of a ranking, each once: of simulations, idle processors, missing prices, quanta and rent not counted.

Options and workloads have the names that the scenario gives them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from operator import itemgetter

from clue.caveats import About, Caveat, Said, gathered, named, note
from clue.machine import Machine
from clue.purchase.accounts import Accounts
from clue.purchase.attempts import Attempt, Cell
from clue.purchase.costs import Tariff
from clue.purchase.limits import unpriced_nodes
from clue.purchase.questions.cheapest import is_asked
from clue.purchase.run_price import price_of_runs
from clue.purchase.scenario import IN_MONEY, Criterion, Option, Scenario, Workload
from clue.units import count_of, format_number, format_share, format_time

#: Relative difference below which two costs differ by rounding only.
_ROUNDING = 1e-9


def caveats_of(scenario: Scenario, listed: Sequence[Attempt], accounts: Accounts) -> Iterator[str]:
    """Yield the caveats of a ranking, each once.

    Args:
        scenario: The comparison.
        listed: The options that have a position.
        accounts: The costs of options.
    """
    return gathered(_said(scenario, listed, accounts), [attempt.option.name for attempt in listed], "options")


def _said(scenario: Scenario, listed: Sequence[Attempt], accounts: Accounts) -> Iterator[Said]:
    for attempt in listed:
        for unpriced in _unpriced(attempt.option, accounts):
            yield Said(unpriced, attempt.option.name, "")
        if (uncounted := _uncounted_quantum(scenario, attempt.option)) is not None:
            yield Said(uncounted, attempt.option.name, "")
        if (unlimited := _unlimited_rent(scenario, attempt.option)) is not None:
            yield Said(unlimited, attempt.option.name, "")
        for workload, cell in zip(scenario.workloads, attempt.cells, strict=True):
            for component, prediction in zip(workload.components, cell.possible[0].run.predictions, strict=False):
                name = workload.title(component)
                yield from (Said(caveat, attempt.option.name, name) for caveat in prediction.warnings)
            if (slower := _slower(scenario, workload, cell)) is not None:
                yield Said(slower, attempt.option.name, workload.name)
            if (dearer := _dearer(scenario, attempt.option, cell)) is not None:
                yield Said(Caveat(About.PROGRAM, workload.name, *dearer), attempt.option.name, workload.name)
            idle = _idle(workload, attempt.option.machine, cell)
            yield from (Said(caveat, attempt.option.name, workload.name) for caveat in idle)


def _unpriced(option: Option, accounts: Accounts) -> Iterator[Caveat]:
    """Report that prices of some nodes give an option no price, and that its further costs are left out without one."""
    if option.price is not None:
        return
    if lacking := unpriced_nodes(option):
        of = f"some of its nodes state none ({named(lacking)})"
        yield note(About.MACHINE, option.name, f"it has no price, as {of}: state its price, or one for each type")
    if option.costs is not None and accounts.of(option).sheet(1.0, 1.0).total > 0:
        text = (
            "its further costs are left out, as it has no price: state one (0 if the further costs contain everything)"
        )
        yield note(About.MACHINE, option.name, text)


def _uncounted_quantum(scenario: Scenario, option: Option) -> Caveat | None:
    """Report that begun quanta are not in a total cost, because the number of runs is not stated."""
    cloud = None if option.costs is None else option.costs.cloud
    # Demands are stated for all workloads or for none.
    is_stated = scenario.queue is not None or any(each.demand is not None for each in scenario.workloads)
    if cloud is None or not cloud.quantum or cloud.tariff is Tariff.RESERVED or is_stated:
        return None
    text = (
        f"its billing quantum, {format_time(cloud.quantum)}, counts in the cost of a run, but not in the total cost, "
        "which is the rent for all the time that it is in use: state runs_a_month or jobs to count every begun quantum"
    )
    return note(About.MACHINE, option.name, text)


def _dearer(scenario: Scenario, option: Option, cell: Cell) -> tuple[str, dict[str, str], dict[str, str], float] | None:
    """Report that another split costs less by begun quanta than the fastest one, where money does not decide."""
    criteria = {scenario.criterion, *scenario.weighted, *scenario.pareto}
    if scenario.limits.total_cost is not None or is_asked(scenario):
        criteria.add(Criterion.TOTAL_COST)
    price = price_of_runs(option, scenario, criteria)
    if price is None or cell.price is not None:
        return None
    least_rate = price.least_rate if len(scenario.workloads) == 1 else 0.0
    able = (each for each in cell.choices if each.seconds <= cell.deadline and each.throughput >= least_rate)
    costs = [(price.of(each.makespan, each.instances), each) for each in able]
    least, cheapest = min(costs, key=itemgetter(0), default=(math.inf, cell.possible[0]))
    cost = price.of(cell.possible[0].makespan, cell.possible[0].instances)
    if least >= cost * (1 - _ROUNDING):  # all are free, if all cost 0
        return None
    share = 1 - least / cost
    why = "money does not decide"
    if scenario.criterion in IN_MONEY:
        is_stated = scenario.workloads[0].demand is not None
        why = "runs a month of several workloads are stated" if is_stated else "quanta do not count in the total cost"
    text = (
        "it runs in the split with the highest throughput, as {why}; billed by begun quanta, the split {split} {costs} "
        "{share} less a run"
    )
    split = f"{cheapest.split.side_by_side} × {cheapest.split.ranks}"
    known = "costs" if cheapest.run.known else "may cost up to"
    return text, {"why": why, "split": split, "costs": known}, {"share": format_share(share, 1)}, share


def _unlimited_rent(scenario: Scenario, option: Option) -> Caveat | None:
    """Report that nothing limits rent where a budget is stated, and that the order does not depend on it."""
    counted = scenario.limits.total_cost is not None or bool(IN_MONEY & {scenario.criterion, *scenario.weighted})
    if scenario.budget is None or not option.is_rented or counted:
        return None
    text = (
        "the budget covers purchases, not its rent, nor what is paid for it in advance: limit both by total_cost under "
        "limits, or rank by total_cost"
    )
    return note(About.MACHINE, option.name, text)


def _slower(scenario: Scenario, workload: Workload, cell: Cell) -> Caveat | None:
    """Report that a workload is slower than on the reference system, if options are compared with one."""
    known = scenario.reference.workloads.get(workload.name) if scenario.reference is not None else None
    speedup = math.inf if known is None else known.seconds / cell.makespan
    if speedup >= 1:
        return None
    text = "its speedup over the reference system is {speedup}: NERSC requires at least 1 for the SSI"
    return Caveat(About.PROGRAM, workload.name, text, figures={"speedup": f"{speedup:.3g}"}, size=speedup, least=True)


def _idle(workload: Workload, machine: Machine, cell: Cell) -> Iterator[Caveat]:
    """Report the reason if most of a machine's processors stay idle."""
    idle, processors = cell.possible[0].split.idle, machine.processors
    if 2 * idle > processors:
        yield Caveat(
            About.PROGRAM,
            workload.name,
            "{idle} of {processors} processors stay idle, because {why}",
            {"why": _why_idle(workload, machine, cell)},
            {"idle": format_number(idle), "processors": format_number(processors)},
            idle,
        )


def _why_idle(workload: Workload, machine: Machine, cell: Cell) -> str:
    most, instances, split = max(workload.ranks), workload.instances, cell.possible[0].split
    if instances is not None and 2 * most * instances <= machine.processors * workload.ranks_per_processor:
        asked = f"{count_of(most)}{f' × {format_number(instances)} instances' if instances > 1 else ''}"
        # A model was fitted to one instance, and predicts any number of ranks.
        modelled = all(each.application.modelled is not None for each in workload.components)
        further = "" if modelled else " (the program has to be recorded at each), or more instances"
        return f"the workload asks for {asked} at most: add larger numbers to ranks{further}"
    if any(choice.split.idle < split.idle for choice in cell.choices):
        return f"it is no {'cheaper' if cell.by_price else 'faster'} with more of them"
    return "nothing larger fits there (memory, and the numbers of ranks)"
