"""The experiment, for each machine: calibrate links, record on one of its nodes, run for real, and predict.

The testbed's times extend from MPI's initialisation, which mpi4py runs while it is loaded, to the end of the program's
code. After the initialisation mpi4py computes for some 4 ms of CPU time, which no recording contains. An empty program
measures this time, and it is subtracted.
"""

from __future__ import annotations

import shutil
import statistics
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
import yaml

from benchmarks.accuracy.unseen.buying import Buyer, clue_command
from benchmarks.accuracy.unseen.cases import Set, UnseenMachine, UnseenProgram
from benchmarks.accuracy.unseen.figures import UnseenCase
from benchmarks.accuracy.unseen.predicting import Recorded, by_user, cpu_of, figures
from benchmarks.accuracy.validate.measured import MeasurementFolder
from benchmarks.testbed import launch
from benchmarks.testbed.description import Host
from benchmarks.testbed.dilation import dilated_description, dilated_hosts
from benchmarks.testbed.experiment import at_full_speed, in_turns, on_demand
from benchmarks.testbed.truth import hosts_at
from clue.config import load_machine
from clue.machine import Machine, Placement
from clue.trace import Trace
from clue.uncertainty.model_error import mean_message

Doubles = npt.NDArray[np.float64]
#: Limit of a run on a machine that is not dilated, s.
_TIMEOUT = 120.0
_NOTHING_SCRIPT = Path(__file__).with_name("nothing.py")
#: Computation below which a rank counts as idle, s.
_NOTHING = 1e-9


@dataclass(frozen=True, slots=True)
class RealRun:
    """A run for real.

    Attributes:
        seconds: Time from the loading of mpi4py to the program's end.
        late: Share of that time for which the worst rank lacked a core of this computer.
        computing: CPU time of each rank's bursts, seconds of a core of this computer at its best.
    """

    seconds: float
    late: float
    computing: Sequence[float]

    def beyond(self, nothing: Sequence[RealRun]) -> RealRun:
        """Return the run minus the median time of runs of the empty program."""
        seconds = self.seconds - statistics.median(run.seconds for run in nothing)
        computing = np.array(self.computing) - np.median([run.computing for run in nothing], axis=0)
        return RealRun(seconds, self.late, np.maximum(computing, 0.0).tolist())


@dataclass(frozen=True, slots=True)
class _OfProgram:
    """The measurements of a program on a machine.

    Attributes:
        hosts: Hosts of the machine, one for each node.
        file: The machine as its buyer describes it.
        runs: Real runs.
        nodes: CPU time of each rank's bursts when recorded on one node of each type, seconds of its processors.
    """

    hosts: Sequence[Host]
    file: Path
    runs: Sequence[RealRun]
    nodes: Mapping[str, Doubles]

    def longer_on_nodes(self, recorded: Recorded) -> Doubles:
        """Return, by rank, the bursts' duration on the nodes relative to the duration recorded at the stated speeds."""
        machine, placement, factors = self._stated(recorded)
        of_types = {name: cpu.sum() / recorded.cpu.sum() for name, cpu in self.nodes.items()}
        longer: Doubles = np.array([of_types[machine.nodes[node].name] for node in placement.nodes]) / factors
        return longer

    def longer_in_runs(self, recorded: Recorded) -> Doubles:
        """Return, by rank, the bursts' duration in the runs relative to the duration recorded at the stated speeds."""
        _, placement, factors = self._stated(recorded)
        slower = np.array([self.hosts[node].factor for node in placement.nodes])
        took = np.median([run.computing for run in self.runs], axis=0) * slower
        longer: Doubles = took / np.maximum(recorded.cpu * factors, _NOTHING)
        return longer

    def _stated(self, recorded: Recorded) -> tuple[Machine, Placement, Doubles]:
        machine = load_machine(self.file)
        placement = Placement.block(machine, recorded.trace.ranks)
        return machine, placement, np.array([machine.nodes[node].factor("") for node in placement.nodes])


@dataclass(frozen=True, slots=True)
class _Cluster:
    """A machine as it is built.

    Attributes:
        nominal: The machine as described.
        hosts: Its hosts.
        dilation: How many times slower they are than those of the unseen machine.
    """

    nominal: Machine
    hosts: tuple[Host, ...]
    dilation: int

    @property
    def timeout(self) -> float:
        """Limit of a run, seconds."""
        return _TIMEOUT * self.dilation


@dataclass(frozen=True, slots=True)
class Experiment:
    """What is measured, and how often.

    Attributes:
        programs: The programs.
        runs: Real runs of each case.
        measured: Keeps measurements and recordings.
        buyer: Describes machines.
        commit: Commit of the model.
        tell: Called with the current work.
        dilation: How many times slower a machine is when cases are measured again whose ranks lacked cores; 1: never.
        recorded: Recordings by users on this computer, by program and ranks.
    """

    programs: Sequence[UnseenProgram]
    runs: int
    measured: MeasurementFolder
    buyer: Buyer
    commit: str
    tell: Callable[[str], None]
    dilation: int = 1
    recorded: dict[tuple[str, int], Recorded] = field(default_factory=dict)

    def on(self, unseen: UnseenMachine) -> Iterator[UnseenCase]:
        """Measure and predict all programs on a machine, and again where ranks lacked cores, on the dilated machine."""
        first = list(self._at(unseen, 1, self.programs))
        yield from first
        late = [program for program, case in zip(self.programs, first, strict=True) if case.is_late]
        if late and self.dilation > 1:
            yield from self._at(unseen, self.dilation, late)

    def _at(self, unseen: UnseenMachine, dilation: int, programs: Sequence[UnseenProgram]) -> Iterator[UnseenCase]:
        """Yield the case of each program on a machine that is slower by a factor."""
        stated = unseen.file if dilation == 1 else self._dilated(unseen.file, dilation)
        hosts = dilated_hosts(hosts_at(unseen.file), dilation)
        cluster = _Cluster(load_machine(stated), hosts, dilation)
        for program in programs:
            self._recorded(program, cluster.nominal.processors)
        with on_demand(stated.stem, hosts) as testbed:
            file = self.buyer.described(stated, hosts, testbed)
            runs = in_turns([*programs, None], self.runs, partial(self._run, cluster, testbed))
        nodes = self._on_nodes(cluster, programs)
        for program in programs:
            of_program = _OfProgram(hosts, file, [run.beyond(runs[None]) for run in runs[program]], nodes[program])
            yield self._case(program, unseen, dilation, of_program)

    def _dilated(self, stated: Path, dilation: int) -> Path:
        """Write the description of a dilated machine; return its file."""
        file = self.measured.folder / "dilated" / f"{stated.stem}-{dilation}.yaml"
        file.parent.mkdir(exist_ok=True)
        document = dilated_description(yaml.safe_load(stated.read_text()), dilation)
        file.write_text(yaml.safe_dump(document, sort_keys=False))
        return file

    # --- measurements ---

    def _recorded(self, program: UnseenProgram, ranks: int) -> Recorded:
        """Record a program on this computer, as a user does."""
        key = program.name, ranks
        if key not in self.recorded:

            def record(target: Path) -> None:
                self.tell(f"recording {program.name} on {ranks} ranks")
                clue_command("record", "-n", str(ranks), "-o", str(target), *program.command)

            first, repeats = self._kept(f"{program.name}-{program.size}-{ranks}", record)
            self.recorded[key] = Recorded(program, (first, *repeats))
        return self.recorded[key]

    def _kept(self, name: str, record: Callable[[Path], None]) -> tuple[Path, list[Path]]:
        """Return a recording and its repeats; if any of them is missing, all are recorded now."""
        folder, draft = self.measured.folder / name, self.measured.folder / f"{name}.draft"
        if not folder.exists():
            shutil.rmtree(draft, ignore_errors=True)
            draft.mkdir()
            record(draft / "program.clue")
            draft.rename(folder)
        return folder / "program.clue", sorted(folder.glob("program.[0-9]*.clue"))

    def _run(self, cluster: _Cluster, testbed: Callable[[], str], program: UnseenProgram | None, turn: int) -> RealRun:
        machine = cluster.nominal
        name = "nothing" if program is None else f"{program.name}-{program.size}"

        def measure() -> dict[str, object]:
            self.tell(f"running {name} on {machine.name}")
            placed = [cluster.hosts[node] for node in Placement.block(machine, machine.processors).nodes]
            own = [str(_NOTHING_SCRIPT)] if program is None else program.command
            command = [sys.executable, str(launch.PROGRAM), *own]
            run = partial(launch.run, testbed(), placed, command, timeout=cluster.timeout, rehearsed=False)
            output = at_full_speed(run)
            late = max(rank.late for rank in output.ranks) / output.seconds
            return asdict(RealRun(output.seconds, late, [rank.burst_cpu for rank in output.ranks]))

        return RealRun(**self.measured.get(f"{machine.name}-{name}-{turn}", measure))

    def _on_nodes(
        self, cluster: _Cluster, programs: Sequence[UnseenProgram]
    ) -> dict[UnseenProgram, dict[str, Doubles]]:
        """Return the CPU time of each rank's bursts when recorded on one node of each type, seconds of its processors.

        All ranks are on that node, each with a processor of it.
        """
        machine, found = cluster.nominal, {program: dict[str, Doubles]() for program in programs}
        for name in machine.node_types():
            host = next(host for host in cluster.hosts if machine.nodes[host.index].name == name)
            alone = replace(host, index=0, processors=machine.processors, rack=None, latency=0.0)
            with on_demand("recording", [alone]) as testbed:
                for program in programs:
                    kept, record = f"{machine.name}-{name}-{program.name}-{program.size}", self._record_on
                    target, _ = self._kept(kept, partial(record, testbed, alone, cluster.timeout, program))
                    found[program][name] = cpu_of(Trace.open(target)) * host.factor
        return found

    def _record_on(
        self, testbed: Callable[[], str], host: Host, timeout: float, program: UnseenProgram, target: Path
    ) -> None:
        self.tell(f"recording {program.name} on a node")
        attempts: dict[launch.RunOutput, Path] = {}

        def record() -> launch.RunOutput:
            attempt = target.resolve().with_name(f"attempt-{len(attempts)}.clue")
            layer = [sys.executable, "-m", "virtual_layer", "-o", str(attempt), *program.command]
            output = launch.run(testbed(), [host] * host.processors, layer, timeout=timeout, rehearsed=False)
            attempts[output] = attempt
            return output

        attempts[at_full_speed(record)].rename(target)

    # --- predictions ---

    def _case(
        self,
        program: UnseenProgram,
        unseen: UnseenMachine,
        dilation: int,
        measured: _OfProgram,
    ) -> UnseenCase:
        file, runs, ranks = measured.file, measured.runs, load_machine(measured.file).processors
        recorded = self._recorded(program, ranks)
        calibrated, in_runs = measured.longer_on_nodes(recorded), measured.longer_in_runs(recorded)
        said = by_user(recorded, file)
        case = UnseenCase(
            program=program.name, machine=unseen.name, dilation=dilation, ranks=ranks, size=program.size,
            frozen=unseen.of is Set.FROZEN, live=program.decides, runs=tuple(run.seconds for run in runs),
            late=statistics.median(run.late for run in runs), user=said.makespan, low=said.low, high=said.high,
            by_user=figures(recorded, file), calibrated=figures(recorded, file, calibrated),
            hindsight=figures(recorded, file, in_runs, cold=False), message=mean_message(recorded.trace.ops),
            commit=self.commit,
        )  # fmt: skip
        self.tell(str(case))
        return case
