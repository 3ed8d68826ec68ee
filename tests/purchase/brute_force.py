"""An independent reference: a comparison of generated clusters, worked out cluster by cluster.

It reads the figures of the scenario file and follows the documentation: docs/pages/how-to/search.md, queues.md and
docs/pages/model/costs.md. It uses no code under test for clusters, prices, placements, queues, costs and scores. A
formula gives the run times; :class:`ByFormula` passes it to clue.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations, product
from typing import Any

import numpy as np

from clue.predict.prediction import Prediction
from clue.predict.predictor import Predictor

MONTH = 365 * 86400 / 12
#: Jobs under 10 s count as 10 s in slowdowns.
SHORTEST = 10.0
#: Criteria by which more is better.
HIGHER = {"points", "throughput", "weighted"}


# --- run times of programs ---


def formula(program: str, ranks: int, latency: float, nodes: Sequence[tuple[int, int, float]]) -> float:
    """Return the run time of a program, in seconds.

    Args:
        program: Its name, which contains the seconds of work and the seconds of messages for each additional node.
        ranks: Number of its ranks.
        latency: Latency of the network, in seconds.
        nodes: For each node in use: its ranks, processors and performance factor.
    """
    work, messages = map(float, program.split("-")[1:3])
    slowest = max(factor * max(1.0, on / processors) * (1 + 0.07 * (on - 1)) for on, processors, factor in nodes)
    return work / ranks * slowest + (messages * (latency * (len(nodes) - 1) + 0.001 * ranks) if ranks > 1 else 0.0)


class ByFormula(Predictor):
    """A predictor that returns the formula's run times, and lower bounds below them."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def _seconds(self, task: Any) -> float:
        machine, (application, ranks) = task.where.machine, task.key
        used = Counter(task.where.placement.nodes)
        nodes = [(n, machine.nodes[i].processors, machine.nodes[i].performance_factor) for i, n in used.items()]
        return formula(application.name, ranks, machine.network.between_nodes.transmission_delay(0), nodes)

    def _share(self, seconds: float, which: int) -> float:
        """Return a share from 0 to 1 that depends only on the time; a share of 0 means that nothing is known."""
        if which != 1 and self._seed % 3 == 0:
            return 0.0
        return math.modf(abs(math.sin(seconds * 1e4 + self._seed + which)) * 1e3)[0]

    def outlook(self, tasks: Any, samples: int = 0) -> Any:  # noqa: ARG002, D102 - see Predictor
        return np.array([self._share(each, 0) * each for each in map(self._seconds, tasks)])

    def bounds(self, tasks: Any, progress: Any) -> Any:  # noqa: ARG002, D102 - see Predictor
        seconds = [self._seconds(task) for task in tasks]
        exact = np.array([self._share(each, 1) < 0.2 for each in seconds], np.bool_)
        shares = [self._share(each, 2) for each in seconds]
        return np.where(exact, seconds, [share * each for share, each in zip(shares, seconds, strict=True)]), exact

    def predict(self, tasks: Any) -> Iterator[tuple[int, Prediction]]:  # noqa: D102 - see Predictor
        for i, task in enumerate(tasks):
            yield i, Prediction(self._seconds(task), "formula")


# --- clusters ---


@dataclass(frozen=True)
class Node:
    """A node: name of its kind, number of processors, performance factor, memory in bytes, price."""

    kind: str
    processors: int
    factor: float
    memory: float
    price: float


@dataclass(frozen=True)
class Cluster:
    """A cluster: its name, its nodes, the latency of its network, its price."""

    name: str
    nodes: tuple[Node, ...]
    latency: float
    price: float


def clusters(of: dict[str, Any]) -> Iterator[Cluster]:
    """Yield the clusters within the budget; those with one kind of node come first."""
    generate = of["generate"]
    kinds = []
    for (node, a), (processor, b), memory in product(
        generate["node_types"].items(), (generate.get("processors") or {"": {}}).items(), generate["memory"]
    ):
        price = amount(a["price"]) + amount(b.get("price", "0 EUR")) + amount(memory.get("price", "0 EUR"))
        laid = {"processors": 1, "performance_factor": 1.0, **a, **b}
        name = " ".join(filter(None, (node, processor, memory["size"])))
        kinds.append(
            Node(name, laid["processors"], laid["performance_factor"], 1e9 * float(memory["size"].split()[0]), price)
        )
    counts = range(generate["nodes"]["from"], generate["nodes"]["to"] + 1)
    made = [[(kind, n)] for kind in kinds for n in counts]
    if generate.get("mixed"):
        both = product(combinations(kinds, 2), counts, counts)
        made += [[(one, n), (other, m)] for (one, other), n, m in both if n + m <= max(counts)]
    for name, network in generate["networks"].items():
        for topology, form in (generate.get("topologies") or {"": {}}).items():
            for parts in made:
                cluster = _cluster(generate, f"{name} {topology}".rstrip(), network, form, parts)
                if cluster.price <= amount(of["budget"]):
                    yield cluster


def _cluster(
    generate: dict[str, Any], title: str, network: dict[str, Any], topology: dict[str, Any], parts: Any
) -> Cluster:
    nodes = tuple(kind for kind, n in parts for _ in range(n))
    per_node = amount(network.get("price_per_node", "0 EUR")) + amount(topology.get("price_per_node", "0 EUR"))
    switch = network.get("switch")
    switches = 0.0 if switch is None else math.ceil(len(nodes) / switch["ports"]) * amount(switch["price"])
    price = amount(generate["price"]) + sum(node.price for node in nodes) + per_node * len(nodes) + switches
    latency = float(network["between_nodes"]["transmission_delay"].split()[0])
    return Cluster(f"{' + '.join(f'{n} × {kind.kind}' for kind, n in parts)}, {title}", nodes, latency, price)


def amount(price: str) -> float:
    """Return the amount of a price such as ``100 EUR``."""
    return float(price.split(maxsplit=1)[0])


# --- placements ---


@dataclass(frozen=True)
class Run:
    """A run on a cluster: its time in seconds, and the number of its nodes."""

    seconds: float
    nodes: int


def runs(form: dict[str, Any], cluster: Cluster, only: int | None = None) -> list[Run]:
    """Return a workload's runs for all its placements and all its numbers of ranks, or for one number."""
    found = []
    for ranks in form["ranks"] if only is None else [only]:
        for placed in _placements(form["placement"], cluster, ranks):
            if all(n * 1e6 * form["memory"] <= cluster.nodes[i].memory for i, n in placed.items()):
                used = [(n, cluster.nodes[i].processors, cluster.nodes[i].factor) for i, n in placed.items()]
                seconds = formula(form["program"]["trace"], ranks, cluster.latency, used)
                found.append(Run(seconds, len(placed)))
    return found


def _placements(placement: Any, cluster: Cluster, ranks: int) -> Iterator[Counter[int]]:
    """Yield, for each placement, how many ranks run on which nodes."""
    stated = placement if isinstance(placement, list) else [placement]
    if placement == "search":
        most = max(node.processors for node in cluster.nodes)
        each = [None, *(2**i for i in range(10) if 2**i < most)]
        stated = [{"order": order, "ranks_per_node": per_node, "nodes": nodes}
                  for order, per_node, nodes in product(("block", "cyclic"), each, ("first", "last"))]  # fmt: skip
    for way in stated:
        form: dict[str, Any] = {"order": way} if isinstance(way, str) else way
        most_each: float = form.get("ranks_per_node") or math.inf
        seats = [min(node.processors, most_each) for node in cluster.nodes]
        order = list(range(len(seats)))
        if form.get("nodes") == "last":
            order.reverse()
        rounds = [[i] * int(seats[i]) for i in order]
        if form["order"] == "cyclic":
            rounds = [[i for i in order if seats[i] > turn] for turn in range(max(map(int, seats)))]
        taken = [i for each in rounds for i in each][:ranks]
        if len(taken) == ranks:
            yield Counter(taken)


# --- the queue ---


@dataclass
class Job:
    """A job: submission time, nodes, run time, time limit, weight, and start time."""

    submitted: float
    nodes: int
    run: float
    limit: float
    weight: float
    start: float = math.inf

    @property
    def end(self) -> float:
        """Time at which the job ends."""
        return self.start + self.run


def queued(jobs: list[Job], nodes: int, policy: str) -> list[Job]:
    """Set the start times of jobs, which are ordered by submission, and return them."""
    now = 0.0
    while any(job.start == math.inf for job in jobs):
        waiting = [job for job in jobs if job.submitted <= now and job.start == math.inf]
        running = [job for job in jobs if job.start <= now < job.end]
        free = nodes - sum(job.nodes for job in running)
        for job in _starting(waiting, running, free, now, policy):
            job.start = now
        now = min(
            time for job in jobs for time in ([job.submitted] if job.start == math.inf else [job.end]) if time > now
        )
    return jobs


def _starting(waiting: list[Job], running: list[Job], free: int, now: float, policy: str) -> Iterator[Job]:
    running = [*running]
    while waiting and waiting[0].nodes <= free:
        job = waiting.pop(0)
        free -= job.nodes
        running.append(Job(now, job.nodes, job.run, job.limit, 1.0, now))
        yield job
    if not waiting or policy == "fcfs":
        return
    first, others = waiting[0], waiting[1:]
    for job in others:
        # When the first job gets its nodes if all running jobs use up their limits, and how many nodes are left then.
        for end in sorted({each.start + each.limit for each in running}):
            then = free + sum(each.nodes for each in running if each.start + each.limit <= end)
            if then >= first.nodes:
                break
        if job.nodes <= free and (now + job.limit <= end or job.nodes <= then - first.nodes):
            free -= job.nodes
            running.append(Job(now, job.nodes, job.run, job.limit, 1.0, now))
            yield job


# --- figures ---


@dataclass
class Known:
    """A cluster with its results: the run of each workload that counts, the late workloads, and its jobs."""

    cluster: Cluster
    best: dict[str, Run]
    late: set[str]
    jobs: list[Job] = field(default_factory=list)
    late_jobs: bool = False

    @property
    def utilisation(self) -> float:
        """The share of node time that jobs use, from the first submission to the last."""
        begin, end = self.jobs[0].submitted, self.jobs[-1].submitted
        if begin == end:
            end = max(job.end for job in self.jobs)
        held = sum(job.nodes * max(0.0, min(job.end, end) - job.start) for job in self.jobs)
        return held / (len(self.cluster.nodes) * (end - begin))


def is_barred(of: dict[str, Any], cluster: Cluster) -> bool:
    """Tell whether a cluster breaks a limit without any run."""
    limits = of["limits"]
    least = 1e6 * limits.get("memory_per_core", 0)
    too_little = any(node.memory / node.processors < least for node in cluster.nodes)
    return len(cluster.nodes) > limits.get("nodes", math.inf) or too_little


def known(of: dict[str, Any], cluster: Cluster) -> Known | None:
    """Return a cluster's results, or ``None`` if it breaks a limit without any run, or cannot run a workload."""
    if is_barred(of, cluster):
        return None
    found = Known(cluster, {}, set())
    for name, form in of["workloads"].items():
        all_runs = runs(form, cluster)
        if not all_runs:
            return None
        found.best[name] = min(all_runs, key=lambda run: run.seconds)
        if found.best[name].seconds > form.get("deadline", math.inf):
            found.late.add(name)
    for name, form in of.get("jobs", {}).items():
        workload = of["workloads"][name]
        taken = found.best[name]
        if form.get("ranks"):
            those = runs(workload, cluster, form["ranks"])
            if not those:
                return None
            taken = min(those, key=lambda run: run.seconds)
        found.late_jobs |= taken.seconds > workload.get("deadline", math.inf)
        limit = taken.seconds * form["overestimate"]
        found.jobs += [Job(at, taken.nodes, taken.seconds, limit, form["weight"]) for at in sorted(form["submitted"])]
    found.jobs.sort(key=lambda job: job.submitted)
    if found.jobs:
        queued(found.jobs, len(cluster.nodes), of["queue"]["policy"])
    return found


def total_cost(of: dict[str, Any], each: Known) -> float:
    """Return the price plus the cost of energy over the service life."""
    node, busy, nodes = of["generate"]["cost"]["parts"]["node"]["power"], _busy(of, each), len(each.cluster.nodes)
    watts = nodes * (node["idle"] + busy * (node["busy"] - node["idle"]))
    energy: float = watts / 1000 * of["service_life"] / 3600
    return each.cluster.price + energy * amount(of["generate"]["cost"]["electricity"]["price"])


def _busy(of: dict[str, Any], each: Known) -> float:
    if each.jobs:
        return each.utilisation
    if all("runs_a_month" in form for form in of["workloads"].values()):
        runs = ((float(form["runs_a_month"]), each.best[name]) for name, form in of["workloads"].items())
        return sum(number / MONTH * run.seconds for number, run in runs)
    return 1.0


def _cost_per_run(of: dict[str, Any], each: Known) -> float:
    """Return the cost of a run: the mean over all jobs, over all demanded runs, or over workloads."""
    total, forms, life = total_cost(of, each), of["workloads"], float(of["service_life"])
    if each.jobs:
        work = sum(job.nodes * job.run for job in each.jobs) / len(each.jobs)
        return total / (each.utilisation * len(each.cluster.nodes) / work * life)
    if all("runs_a_month" in form for form in forms.values()):
        runs = sum(float(form["runs_a_month"]) for form in forms.values())
        return total / (runs / MONTH * life)
    of_runs = [total * each.best[name].seconds / life for name in forms]
    return _mean(of_runs, [form["weight"] for form in forms.values()])


def keeps(of: dict[str, Any], each: Known) -> bool:
    """Tell whether a cluster keeps the limits that depend on its use."""
    limits = of["limits"]
    waits = figure(of, "waiting", each, []) if "waiting" in limits else 0.0
    return (
        not each.late
        and not each.late_jobs
        and _busy(of, each) <= 1 + 1e-9
        and total_cost(of, each) <= limits.get("total_cost", math.inf) * (1 + 1e-9)
        and waits <= limits.get("waiting", math.inf)
    )


def figure(of: dict[str, Any], criterion: str, each: Known, others: Sequence[Known]) -> float:
    """Return a cluster's figure by one criterion other than weighted.

    *others* are all clusters that can run the workloads; points are relative to the fastest of them.
    """
    weights = [job.weight for job in each.jobs]
    if criterion == "waiting":
        return _mean([job.start - job.submitted for job in each.jobs], weights)
    if criterion == "slowdown":
        return _mean([max(1.0, (job.end - job.submitted) / max(job.run, SHORTEST)) for job in each.jobs], weights)
    if criterion == "unused_nodes":
        return len(each.cluster.nodes) * (1 - each.utilisation)
    if criterion == "total_cost":
        return total_cost(of, each)
    if criterion == "cost_per_run":
        return _cost_per_run(of, each)
    found, forms = [], of["workloads"]
    for name in forms:
        seconds = each.best[name].seconds
        fastest = min((other.best[name].seconds for other in others if name not in other.late), default=math.inf)
        points = 0.0 if name in each.late or fastest == math.inf else 100 * len(forms) * fastest / seconds
        found.append({"points": points, "makespan": seconds, "throughput": 3600 / seconds}[criterion])
    return _mean(found, [form["weight"] for form in forms.values()])


def _mean(values: Sequence[float], weights: Sequence[float]) -> float:
    return sum(value * weight for value, weight in zip(values, weights, strict=True)) / sum(weights)


def scores(of: dict[str, Any], criterion: str, all_known: Sequence[Known]) -> dict[str, float]:
    """Return the scores, by name, of the clusters that keep all limits."""
    within = [each for each in all_known if keeps(of, each)]
    if criterion != "weighted":
        return {each.cluster.name: figure(of, criterion, each, all_known) for each in within}
    total = {each.cluster.name: 0.0 for each in within}
    for part, weight in of["weighted"].items():
        figures = scores(of, part, all_known)
        best = (max if part in HIGHER else min)(figures.values(), default=0.0)
        for name, got in figures.items():
            share, whole = (got, best) if part in HIGHER else (best, got)
            total[name] += 100 * weight / sum(of["weighted"].values()) * (1.0 if share == whole else share / whole)
    return total


def on_the_front(of: dict[str, Any], all_known: Sequence[Known]) -> set[str]:
    """Return the Pareto front: clusters that no other equals in all criteria and beats in one."""
    columns = [scores(of, criterion, all_known) for criterion in of["pareto"]]
    signs = [-1 if criterion in HIGHER else 1 for criterion in of["pareto"]]
    rows = {
        name: tuple(sign * float(f"{column[name]:.12g}") for sign, column in zip(signs, columns, strict=True))
        for name in columns[0]
    }
    return {
        name
        for name, row in rows.items()
        if not any(other != row and all(a <= b for a, b in zip(other, row, strict=True)) for other in rows.values())
    }
