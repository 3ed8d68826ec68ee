"""Build comparisons from documents: the second half of reading one, after its form has been checked."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from clue.config.cost_schema import LimitsForm
from clue.config.costs import CostReader, with_costs
from clue.config.currencies import Exchange, check_prices, exchange_of, notes_of, prices_in
from clue.config.document import Path, children
from clue.config.faults import did_you_mean
from clue.config.offers import generate_options, prices_of_machines
from clue.config.queues import QueueReader, criteria_of
from clue.config.reading import Reading
from clue.config.references import build_application, name_of_machine, number_of_ranks, option_machine
from clue.config.run_schema import KernelForm, LayoutForm, NextForm, OptionForm, ProgramForm, ScenarioForm, WorkloadForm
from clue.config.skeleton_runs import check_recording, measured_by
from clue.machine import Machine
from clue.purchase.costs import Stated
from clue.purchase.scenario import Component, Criterion, Layout, Limits, Option, Scenario, Workload
from clue.skeleton.prediction import Measured
from clue.units import MONTH, Money


def build_scenario(reading: Reading, name: str) -> Scenario | None:
    """Build a comparison, with this name unless it states one; ``None`` if it has faults."""
    form = reading.form(ScenarioForm)
    machines = _machines(reading)
    if form is None:
        return None
    workloads = tuple(_workload(reading, key, workload) for key, workload in form.workloads.items())
    queues, criteria = QueueReader(reading, workloads), [*criteria_of(form.criterion, form.pareto, form.weighted)]
    known = [(each.name, each.ranks, each.instances) for each in workloads]
    mix = reading.made("jobs", (form.jobs, form.queue, known), lambda: queues.mix(form.jobs, form.queue))
    queues.check_jobs(mix, criteria, limited=form.limits is not None and form.limits.waiting is not None)
    _check_demands(reading, form, queued=mix is not None)
    if sum(workload.weight for workload in workloads) == 0:
        reading.fault(("workloads",), "must have weights that sum to more than 0, got 0")
    if form.options is None and form.generate is None:
        reading.fault(("options",), "must be given if none are generated, got nothing")
    taken = prices_of_machines(reading, form)
    prices = _prices(form, machines) | taken
    exchange = exchange_of(reading, form.currencies, prices)
    check_prices(reading, prices, exchange)
    costs = CostReader(reading, exchange, queued=mix is not None)
    options = [
        replace(_option(costs, key, option, machines[key]), measured=_measured(reading, key, option, workloads))
        for key, option in (form.options or {}).items()
        if key in machines
    ]
    more = _next(reading, form, exchange)
    generated = generate_options(costs, form, taken, more, options)
    costs.check_types({name for option in options for name in option.nodes} | generated.node_types)
    next_from = _next_from(reading, form, [*options, *generated.options])
    notes = (form.notes,) if isinstance(form.notes, str) else tuple(form.notes)
    return Scenario(
        name=form.name or name,
        workloads=workloads,
        options=(*options, *generated.options),
        budget=None if form.budget is None else exchange(form.budget),
        criterion=Criterion(form.criterion),
        notes=tuple(dict.fromkeys((*notes, *costs.notes(form.costs), *notes_of(form.currencies), *generated.notes))),
        service_life=form.service_life,
        discount_rate=form.discount_rate,
        limits=_limits(form.limits, exchange),
        pareto=tuple(map(Criterion, form.pareto or ())),
        weighted=queues.weighted(form.weighted, criteria),
        queue=mix,
        operations=queues.operations(form.ssp, criteria),
        reference=queues.reference(form.ssi, criteria),
        left_out=generated.left_out,
        next_amount=more,
        next_from=next_from,
        beyond=tuple(generated.beyond),
        place=reading.place(("generate",) if form.options is None else ("options",), of_key=True),
    )


def _next(reading: Reading, form: ScenarioForm, exchange: Exchange) -> Money | None:
    """Return the additional money whose best use is asked for, in the currency of the comparison."""
    if form.next is None:
        return None
    amount = form.next.amount if isinstance(form.next, NextForm) else form.next
    if not exchange.currency:
        reading.fault(("next",), f"must be given with prices, got {amount.amount:g} and none")
    return exchange(amount) if amount.currency else Money(amount.amount, exchange.currency)


def _next_from(reading: Reading, form: ScenarioForm, options: Sequence[Option]) -> str:
    """Return the option on which it is spent; empty: the first of the ranking."""
    name = form.next.option if isinstance(form.next, NextForm) else None
    if name is not None and all(option.name != name for option in options):
        near = did_you_mean(name, [option.name for option in options])
        reading.fault(("next", "from"), f'must be one of the options, got "{name}"{near}')
    return name or ""


def _check_demands(reading: Reading, form: ScenarioForm, *, queued: bool) -> None:
    """Check that runs per month are stated for all workloads or for none: they share the machine's time.

    If jobs are stated, no workload may state them: the jobs are the runs.
    """
    stated = {key: workload.runs_a_month is not None for key, workload in form.workloads.items()}
    if queued:
        for key in (key for key, is_stated in stated.items() if is_stated):
            rule = "must be left out with jobs, which determine how many runs there are, got both"
            reading.fault(("workloads", key, "runs_a_month"), rule, of_key=True)
        return
    for key, is_stated in stated.items():
        if any(stated.values()) and not is_stated:
            path: Path = ("workloads", key, "runs_a_month")
            reading.fault(path, "must be given if another workload has it, got nothing")


def _machines(reading: Reading) -> Mapping[str, Machine]:
    """Return the machines of the options by name, without those that have faults."""
    top = reading.document.value
    options = top.get("options") if isinstance(top, dict) else None
    found = {}
    for key, _ in children(options if isinstance(options, dict) else None):
        machine = option_machine(reading, key)
        if machine is not None:
            found[str(key)] = machine
    return found


def _prices(form: ScenarioForm, machines: Mapping[str, Machine]) -> dict[Path, Money]:
    """Return all prices by path, including those of options' machines; exchange rates are not prices."""
    prices = {path: price for path, price in prices_in(form) if path[0] != "currencies" and price.currency}
    for key, option in (form.options or {}).items():
        price = machines[key].price if option.price is None and key in machines else None
        if price is not None:
            prices["options", key, "price"] = price
    return prices


def _option(costs: CostReader, key: str, form: OptionForm, machine: Machine) -> Option:
    price = form.price or machine.price
    bought = None if price is None else costs.exchange(price)
    stated = _stated(costs.reading, key, form, machine, costs.exchange)
    option = Option(key, machine, None if bought is None else Money(bought.amount, bought.currency), stated=stated)
    found = costs.read(("options", key, "cost")) if form.cost is not None else None
    if found is not None and found.cloud is not None and price is not None:
        _refuse_price(costs.reading, key, form, machine)
    return with_costs(option, found, costs.exchange.currency)


def _refuse_price(reading: Reading, key: str, form: OptionForm, machine: Machine) -> None:
    """Add the fault of an option that has both a price and nodes of a cloud; a price of its machine can be dropped."""
    if form.price is not None:
        reading.fault(("options", key, "price"), f"must not be given with nodes of a cloud, got {form.price}")
        return
    types = machine.node_types()
    summed = [name for name, node in types.items() if node.price is not None]
    amounts = [types[node.name].price for node in machine.nodes]
    total = sum(each.amount for each in amounts if each is not None)
    places, dropped = [], []
    # Without a price of the whole machine, its price is the sum over all nodes.
    assert machine.price is not None
    if len(summed) < len(types) or not math.isclose(total, machine.price.amount):
        places, dropped = ["price"], ["price: null"]
    if len(summed) == len(types):
        places += [f"node_types.{name}.price" for name in summed]
        dropped.append(f"node_types: {{{', '.join(f'{name}: {{price: null}}' for name in summed)}}}")
    rule = f"must not state a price ({', '.join(places)}) with nodes of a cloud, got {machine.price}"
    reading.fault(("options", key, "machine"), f"{rule}: drop it by with: {{{', '.join(dropped)}}}")


def _stated(reading: Reading, key: str, form: OptionForm, machine: Machine, exchange: Exchange) -> tuple[Stated, ...]:
    """Return the figures whose sum is an option's price: the price, or those of the nodes."""
    price = form.price or machine.price
    if price is None:
        return ()
    nodes = Counter(node.name for node in machine.nodes)
    types = machine.node_types()
    each = {name: types[name].price for name in nodes}
    of_nodes = [
        Stated(f"node_types.{name}.price", exchange.amount(of), of.deviation, float(nodes[name]))
        for name, of in each.items()
        if of is not None
    ]
    amount = exchange.amount(price)
    is_sum = len(of_nodes) == len(nodes) and math.isclose(sum(s.value * s.number for s in of_nodes), amount)
    if form.price is None and is_sum and not price.deviation:
        return tuple(of_nodes)
    return (Stated(_name_of_price(reading, key, form), amount, price.deviation),)


def _name_of_price(reading: Reading, key: str, form: OptionForm) -> str:
    """Return the name of an option's price as a whole: all options with the price of one machine have it in common."""
    if form.price is None and form.changed.get("price") is None:
        if isinstance(form.machine, str):
            return f"{name_of_machine(reading, form.machine)}.price"
        # An alias stands for the machine of the option where it is written.
        origins = reading.document.origins
        options = children(reading.document.at("options").value)
        written = {str(name): origins["options", name, "machine"] for name, _ in options}
        own = written[key]
        key = next((name for name, at in written.items() if at.line and at.place() == own.place()), key)
    return f"options.{key}.price"


def _limits(form: LimitsForm | None, exchange: Exchange) -> Limits:
    if form is None:
        return Limits()
    return Limits(
        power=form.power,
        cooling=form.cooling,
        rack_units=form.rack_units,
        nodes=form.nodes,
        memory_per_core=form.memory_per_core,
        total_cost=None if form.total_cost is None else exchange(form.total_cost),
        waiting=form.waiting,
    )


# --- skeletons ---


def _measured(reading: Reading, option: str, form: OptionForm, workloads: Sequence[Workload]) -> Mapping[str, Measured]:
    """Return the skeletons' runs of workloads on an option, without those that have faults."""
    known = {workload.name: workload for workload in workloads}
    found = {}
    for name, runs in form.measured_skeleton.items():
        path: Path = ("options", option, "measured_skeleton", name)
        if name not in known:
            rule = f'must be a workload ({", ".join(known)}), got "{name}"{did_you_mean(name, known)}'
            reading.fault(path, rule, of_key=True)
        elif (measured := measured_by(reading, path, runs)) is not None:
            found[name] = _checked(reading, path, known[name], measured)
    return found


def _checked(reading: Reading, path: Path, workload: Workload, measured: Measured) -> Measured:
    """Check that a skeleton's run is one of a workload, and return it with what could not be checked."""
    if len(workload.components) != 1:
        reading.fault(path, f"must be a workload with one program, got {len(workload.components)} kernels", of_key=True)
    if workload.instances != 1:
        got = workload.instances or "fill"
        reading.fault(path, f"must be a workload with 1 instance, as skeletons have, got {got}", of_key=True)
    if workload.ranks and measured.ranks not in workload.ranks:
        ranks = ", ".join(map(str, workload.ranks))
        reading.fault(path, f"must have a number of ranks that the workload allows ({ranks}), got {measured.ranks}")
        return measured
    if len(workload.components) != 1:
        return measured
    program = workload.components[0].application
    return check_recording(reading, path, measured, filter(None, (program.trace, *program.repeats)))


# --- workloads ---


def _workload(reading: Reading, name: str, form: WorkloadForm) -> Workload:
    path: Path = ("workloads", name)
    layouts = _layouts(form)
    ranks = _ranks(reading, path, form)
    return Workload(
        name=name,
        components=_components(reading, path, form),
        instances=None if form.instances == "fill" else form.instances,
        ranks=ranks,
        weight=form.weight,
        memory=_memory(reading, path, form, ranks),
        order=layouts[0].order,
        ranks_per_processor=layouts[0].ranks_per_processor,
        deadline=math.inf if form.deadline is None else form.deadline,
        demand=None if form.runs_a_month is None else form.runs_a_month / MONTH,
        layouts=() if layouts == [Layout(layouts[0].order, layouts[0].ranks_per_processor)] else tuple(layouts),
        layouts_searched=form.placement == "search",
    )


def _layouts(form: WorkloadForm) -> list[Layout]:
    """Return the stated placements of ranks, each once."""
    stated = form.placement if isinstance(form.placement, list) else [form.placement]
    found = [
        Layout(each.order, each.ranks_per_processor, each.ranks_per_node, each.nodes == "last")
        if isinstance(each, LayoutForm)
        else Layout("block" if each == "search" else each)
        for each in stated
    ]
    return list(dict.fromkeys(found))


def _ranks(reading: Reading, path: Path, form: WorkloadForm) -> tuple[int, ...]:
    """Return the allowed numbers of ranks; none if they are missing, so that nothing is compared with them."""
    programs = _programs(path, form)
    own = sorted({each.extrapolate.ranks or 0 for each in programs.values() if each.extrapolate is not None} - {0})
    listed = own if form.ranks is None else form.ranks if isinstance(form.ranks, list) else [form.ranks]
    for place, program in programs.items():
        for ranks in listed:
            number_of_ranks(reading, place, program, ranks)
    if not listed:
        if any(program.script is None for program in programs.values()):
            reading.fault((*path, "ranks"), "must be given without a script, got nothing")
            return ()
        return (1,)
    return tuple(dict.fromkeys(listed))


def _programs(path: Path, form: WorkloadForm) -> Mapping[Path, ProgramForm]:
    """Return the forms of a workload's programs by path."""
    kernels = {(*path, "kernels", key, "program"): kernel.program for key, kernel in (form.kernels or {}).items()}
    return kernels if form.program is None else {(*path, "program"): form.program, **kernels}


def _memory(reading: Reading, path: Path, form: WorkloadForm, ranks: tuple[int, ...]) -> Mapping[int, float]:
    if form.memory is None:
        return {}
    if not isinstance(form.memory, dict):
        return dict.fromkeys(ranks, form.memory)
    for number in form.memory:
        if ranks and number not in ranks:
            rule = f"must be a number of ranks that the workload allows ({', '.join(map(str, ranks))}), got {number}"
            reading.fault((*path, "memory", number), rule, of_key=True)
    return form.memory


def _components(reading: Reading, path: Path, form: WorkloadForm) -> tuple[Component, ...]:
    if (form.program is None) == (form.kernels is None):
        got = "neither" if form.program is None else "both"
        reading.fault(path, f"must have either a program or kernels, got {got}")
        return ()
    if form.program is not None:
        return (Component(str(path[-1]), build_application(reading, (*path, "program"), form.program)),)
    return _shared(reading, (*path, "kernels"), form.kernels or {})


def _shared(reading: Reading, path: Path, kernels: Mapping[str, KernelForm]) -> tuple[Component, ...]:
    total = sum(kernel.share for kernel in kernels.values())
    if total == 0:
        reading.fault(path, "must have shares that sum to more than 0, got 0")
        return ()
    return tuple(
        Component(
            key,
            build_application(reading, (*path, key, "program"), form.program),
            form.share / total,
        )
        for key, form in kernels.items()
    )
