"""Machines become hosts, hosts become namespaces, and nothing is left of them."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from benchmarks.testbed import cluster, compiled, launch
from benchmarks.testbed.description import Host, hosts_of
from clue.config import load_machine
from clue.errors import CacheError, UsageError
from clue.machine import Machine

ROOT = Path(__file__).parents[2]
LACK = cluster.missing()
needs_testbed = pytest.mark.skipif(LACK is not None, reason=LACK or "")


def _machine(**changes: object) -> Machine:
    document: dict[str, object] = {
        "name": "small",
        "nodes": [{"count": 1, "type": "fast"}, {"count": 2, "type": "slow"}],
        "node_types": {"fast": {"performance_factor": 5, "processors": 2}, "slow": {"performance_factor": 20}},
        "network": {
            "between_nodes": {
                "send_delay": "20 us",
                "transmission_delay": {"latency": "30 us", "bandwidth": "80 Mbit/s"},
            }
        },
    }
    return load_machine({**document, **changes})


def test_hosts_are_what_the_machine_says() -> None:
    """Factors, processors and bandwidths are those of the node types; two fifths and two twentieths are half a core."""
    hosts = hosts_of(_machine())
    assert [host.factor for host in hosts] == [5, 20, 20]
    assert [host.bandwidth for host in hosts] == pytest.approx([10e6, 10e6, 10e6])
    assert [host.name for host in hosts] == ["h0", "h1", "h2"]
    assert len({host.address for host in hosts}) == 3
    assert sum(host.cores for host in hosts) == pytest.approx(0.5)


def _paired(stated: str) -> Machine:
    slow = {"latency": "30 us", "bandwidth": "8 Mbit/s"}
    other = {"latency": "30 us", "bandwidth": stated}
    return _machine(
        network={
            "between_nodes": {
                "send_delay": "20 us",
                "transmission_delay": {"latency": "30 us", "bandwidth": "80 Mbit/s"},
            },
            "pairs": [
                {"between": ["fast", "slow"], "transmission_delay": other},
                {"between": ["slow", "slow"], "transmission_delay": slow},
            ],
        }
    )


def test_a_slow_link_slows_all_that_crosses_it() -> None:
    """A pair that is slower than others makes the link of one end slow."""
    assert [host.bandwidth for host in hosts_of(_paired("8 Mbit/s"))] == pytest.approx([10e6, 1e6, 1e6])


def test_a_pair_cannot_be_slower_than_both_ends() -> None:
    """Two hosts whose links are faster than what is stated between them cannot be built."""
    with pytest.raises(UsageError, match=r"bandwidth between fast and slow must be that of the slower link"):
        hosts_of(_paired("4 Mbit/s"))


def test_cores_have_as_much_to_do_as_each_other() -> None:
    """A fifth of a core twice stands on one core each, two twentieths on both; a loaded host has one of its own."""
    assert cluster.deal_cores(hosts_of(_machine()), [2, 3]) == {None: [2, 3], 0: [2, 3], 1: [2], 2: [3]}
    one_fast = [Host(0, 10.0, 1, 0, None), *(Host(index, 40.0, 1, 0, None) for index in (1, 2, 3))]
    assert cluster.deal_cores(one_fast, [0, 1]) == {None: [0, 1], 0: [0], 1: [1], 2: [1], 3: [1]}
    loaded = [Host(0, 4.0, 1, 0, None), Host(1, 1.0, 1, 4, None)]
    assert cluster.deal_cores(loaded, [0, 1]) == {None: [1], 0: [1], 1: [0]}


@pytest.mark.parametrize(
    ("node", "rule"),
    [
        ({"performance_factor": 0.5}, r"performance_factor of fast must be at least 1 .*, got 0\.5"),
        ({"performance_factor": 5, "background_load": 0.5}, r"background_load of fast must be whole, got 0\.5"),
        ({"performance_factor": 5, "background_load": 1}, r"fast has background load, so it must be one whole core"),
    ],
)
def test_what_cannot_be_emulated_is_said(node: dict[str, object], rule: str) -> None:
    """A processor faster than this computer's, and half a busy process, cannot be had."""
    with pytest.raises(UsageError, match=rule):
        hosts_of(_machine(nodes=[{"count": 2, "type": "fast"}], node_types={"fast": node}))


def test_users_who_are_not_root_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is missing is said before anything is built."""
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert cluster.missing() == "testbed: user must be root, to make network namespaces and control groups"


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_root_runs_only_what_it_compiled_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Helpers lie in a folder of our own; one that others may write is refused, and a planted helper is replaced."""
    monkeypatch.setenv("CLUE_CACHE", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "shared"))
    helpers = [compiled.keeper(), compiled.pace()]
    assert {helper.parent for helper in helpers} == {tmp_path / "testbed"}
    assert all(helper.stat().st_mode & 0o077 == 0 for helper in [*helpers, tmp_path / "testbed"])
    helpers[0].write_text("#!/bin/sh\nexit 0\n")
    assert compiled.keeper().read_bytes().startswith(b"\x7fELF")
    (tmp_path / "testbed").chmod(0o1777)
    with pytest.raises(CacheError, match="testbed: folder must be one that only you may write, got mode 1777"):
        compiled.keeper()


@needs_testbed
def test_more_than_this_computer_has_is_refused() -> None:
    """Processors that are worth more than all cores cannot all be real."""
    cores = len(os.sched_getaffinity(0))
    with pytest.raises(UsageError, match=rf"processors must be worth at most the {cores} cores"):
        cluster.build("greedy", [Host(0, 1.0, cores + 1, 0, None)])


#: A message of 100 000 B goes to and fro; then both ranks compute 10 ms of CPU time; they say what each took.
PROGRAM = """
import json, time
from mpi4py import MPI
comm, message = MPI.COMM_WORLD, bytearray(100000)
comm.Barrier()
begin = time.perf_counter()
if comm.rank == 0:
    comm.Send(message, dest=1); comm.Recv(message, source=1)
else:
    comm.Recv(message, source=0); comm.Send(message, dest=0)
sent = time.perf_counter() - begin
comm.Barrier()
begin, cpu, own = time.perf_counter(), time.thread_time(), time.process_time()
while time.thread_time() - cpu < 0.01:
    pass
own = time.process_time() - own
comm.Barrier()
print(json.dumps([comm.rank, MPI.Get_processor_name(), sent, time.perf_counter() - begin, own]), flush=True)
"""


@needs_testbed
def test_hosts_links_and_processors_are_real(tmp_path: Path) -> None:
    """A round trip takes as long as the links say, 10 ms of steady CPU time ten times as long; nothing is left."""
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    hosts = [Host(index, 10.0, 1, 0, 2e6) for index in range(2)]
    with launch.standing("test", hosts) as name:
        assert name in cluster.existing()
        outcome = launch.run(name, hosts, [sys.executable, str(program)], timeout=60)
    found = sorted(json.loads(line) for line in outcome.output.splitlines())
    assert [host for _, host, *_ in found] == ["h0", "h1"]
    # Two ways of 100 000 B at 2 MB/s; headers come on top, a frame and a little passes unshaped.
    assert 0.09 < found[0][2] < 0.3
    assert all(0.098 < took < 0.3 for _, _, _, took, _ in found)
    # Its clock is that of a core at its best; the real one, which others may slow down, takes as long or longer.
    assert all(0.009 < own < 0.05 for *_, own in found)
    assert name not in cluster.existing()


STAND = """
import time
from benchmarks.testbed import launch
from benchmarks.testbed.description import Host
with launch.standing("killed", [Host(0, 1.0, 1, 1, 1e6)]) as name:
    print(name, flush=True)
    time.sleep(60)
"""


@needs_testbed
def test_a_killed_run_leaves_nothing(tmp_path: Path) -> None:
    """Whoever stood a testbed up is killed: its guardian removes namespaces, groups and processes."""
    script = tmp_path / "stand.py"
    script.write_text(STAND)
    process = subprocess.Popen(
        [sys.executable, str(script)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    name = process.stdout.readline().strip()
    assert name in cluster.existing()
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    until = time.monotonic() + 20
    while name in cluster.existing() and time.monotonic() < until:
        time.sleep(0.05)
    assert name not in cluster.existing()
