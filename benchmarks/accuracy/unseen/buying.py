"""A machine as its buyer describes it: nominal speeds, but measured links and cold starts."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement
from pathlib import Path
from typing import Any

import yaml

from benchmarks.accuracy.validate.measured import MeasurementFolder
from benchmarks.testbed import launch
from benchmarks.testbed.description import Host
from clue.calibration.cold_start import measure_cold_start
from clue.config import load_machine
from clue.errors import RecordError
from clue.kernel.model.costs import empty_message
from clue.machine import Machine


@dataclass(frozen=True, slots=True)
class Buyer:
    """Calibrates links with ``clue calibrate network``, each kind once, and writes machines' files.

    Attributes:
        folder: Keeps measurements.
        seconds: Longest duration of each of the command's two measurements.
        tell: Called with the current work.
    """

    folder: Path
    seconds: float
    tell: Callable[[str], None]

    def described(self, file: Path, hosts: tuple[Host, ...], testbed: Callable[[], str]) -> Path:
        """Return the file of a machine with links as measured between its hosts."""
        machine = load_machine(file)
        document = yaml.safe_load(file.read_text())
        stated = {key: value for key, value in document["network"].items() if key not in _LINKS}
        document["network"] = self._links(machine, hosts, testbed) | stated
        if far := self._between_switches(machine, hosts, testbed):
            document["network"]["contention"]["flows"]["latency_between_switches"] = f"{far:.9g} s"
        cold_start = self._cold_start(file.stem, hosts, testbed)
        for node in document["node_types"].values():
            factor = float(node.get("performance_factor", 1.0))
            after = [[f"{wait:.9g} s", f"{extra * factor:.9g} s"] for wait, extra in cold_start["after"]]
            node["cold_start"] = cold_start | {"after": after}
        target = self.folder / f"{file.stem}.yaml"
        target.write_text(yaml.safe_dump(document, sort_keys=False))
        load_machine(target)
        return target

    def _cold_start(self, name: str, hosts: tuple[Host, ...], testbed: Callable[[], str]) -> dict[str, Any]:
        """Return the cost of waiting for messages between a machine's hosts, seconds of a processor as fast as this."""

        def measure() -> dict[str, Any]:
            self.tell(f"measuring what waits cost bursts on {name}")
            # Ranks wait for each other in pairs: a pair on the host if there is only one.
            addresses = [host.address for host in hosts[: len(hosts) // 2 * 2]]
            mpiexec = [str(launch.mpiexec_of(testbed(), rehearsed=False))]
            found = measure_cold_start(
                mpiexec=mpiexec, hosts=addresses or [hosts[0].address], ranks=len(addresses) or 2
            )
            return {"after": found.points, "at_most": found.at_most}

        known: dict[str, Any] = MeasurementFolder(self.folder).get(f"cold-start-{name}", measure)
        return known

    def _links(self, machine: Machine, hosts: tuple[Host, ...], testbed: Callable[[], str]) -> dict[str, Any]:
        types = machine.node_types()
        found: dict[str, Any] = {}
        pairs: list[dict[str, Any]] = []
        for one, other in combinations_with_replacement(types, 2):
            ends = _ends(machine, hosts, one, other)
            if len(ends) < 2 and types[one].processors == 1:
                continue
            measured = self._calibrated(ends, testbed)
            between, within = measured.pop("between_nodes", None), measured.pop("within_node", None)
            if between is not None:
                found = {"between_nodes": between, **measured, **found}
                pairs.append({"between": [one, other], **_NO_LIMITS, **between})
            if within is not None and one == other:
                found.setdefault("within_node", within)
                pairs.append({"within": one, **_NO_LIMITS, **within})
        found.setdefault("between_nodes", found.get("within_node"))
        return {**found, "pairs": pairs} if len(types) > 1 else found

    def _between_switches(self, machine: Machine, hosts: tuple[Host, ...], testbed: Callable[[], str]) -> float:
        """Return how much longer an empty message takes between switches than within one, seconds.

        It is 0 where links of two types were measured between switches, because these links contain it.
        """
        topology = machine.contention.topology
        if topology is None:
            return 0.0
        switch = topology.parts(len(machine.nodes)).tolist()
        pairs = list(combinations_with_replacement(machine.node_types(), 2))
        measured = [ends for pair in pairs if len(ends := _ends(machine, hosts, *pair)) == 2]
        if any(switch[one.index] != switch[other.index] for one, other in measured):
            return 0.0
        for one, other in measured:
            for far in hosts:
                if switch[far.index] != switch[one.index] and replace(far, index=other.index, rack=other.rack) == other:
                    near, across = (_empty(self._calibrated([one, end], testbed)) for end in (other, far))
                    return max(across - near, 0.0)
        return 0.0

    def _calibrated(self, ends: list[Host], testbed: Callable[[], str]) -> dict[str, Any]:
        """Return the network measured between two hosts, or within one."""
        known = self.folder / f"links-{_digest(ends)}.yaml"
        if not known.exists():
            self.tell(f"calibrating {' – '.join(host.name for host in ends)}")
            draft = known.with_suffix(".draft.yaml")
            clue_command(
                "calibrate", "network", "--mpiexec", str(launch.mpiexec_of(testbed())),
                "--hosts", ",".join(host.address for host in ends), "--time", f"{self.seconds:g}", "-o", str(draft),
            )  # fmt: skip
            draft.rename(known)
        network: dict[str, Any] = yaml.safe_load(known.read_text())["network"]
        return network


_LINKS = ("between_nodes", "within_node", "pairs", "noise")
#: Stated for a pair's link if they were not measured; otherwise the limits of the first link would apply.
_NO_LIMITS = {"eager_limit": "none", "acknowledged_from": "none"}


def _ends(machine: Machine, hosts: tuple[Host, ...], one: str, other: str) -> list[Host]:
    """Return two hosts of two types of nodes, or one host if there is only one of a type."""
    of_one = [host for host in hosts if machine.nodes[host.index].name == one]
    of_other = [host for host in hosts if machine.nodes[host.index].name == other]
    return [of_one[0], of_other[0]] if one != other else of_one[:2]


def _empty(network: dict[str, Any]) -> float:
    """Return the time of an empty message over a measured link, seconds."""
    nodes = {"nodes": [{"count": 2, "type": "host"}], "node_types": {"host": {}}}
    return empty_message(load_machine({**nodes, "network": network}).network.between_nodes)


def _digest(ends: list[Host]) -> str:
    """Return a digest that identifies the kind of link: all properties of its hosts except their identity."""
    return hashlib.blake2b(repr([replace(host, index=0) for host in ends]).encode(), digest_size=6).hexdigest()


def clue_command(*words: str) -> str:
    """Run a command of clue as a user does, and return what it prints.

    Raises:
        RecordError: If it fails.
    """
    ended = subprocess.run([sys.executable, "-m", "clue", *words], capture_output=True, text=True, check=False)
    if ended.returncode:
        raise RecordError(f"clue {' '.join(words)}: must end well, got {ended.returncode}: {ended.stderr[-2000:]}")
    return ended.stdout
