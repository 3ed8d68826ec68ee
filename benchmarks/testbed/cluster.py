"""Building and removing a testbed: namespaces, a bridge, shaped links, groups, busy processes. Independent of MPI.

A testbed is identified by its name: everything that belongs to it carries the name, by which ``remove`` finds it, no
matter which process built it and how that process ended.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks.progress import tell
from benchmarks.testbed import compiled, control_groups
from benchmarks.testbed.description import FRONT, Host, Rack
from clue.cache import open_folder
from clue.errors import UsageError

_PREFIX = "clue-"
_NAMESPACES = Path("/run/netns")
_STATES = Path("/run/clue-testbed")
SWITCH = "switch"
#: The bridge that joins hosts without racks, and the cables of racks.
_ROOT = "bridge"
#: Burst of the token bucket beyond one frame, seconds: the throughput that a link would otherwise lose to a late timer.
_LATE = 100e-6
#: Largest number of frames in the queue of a host's own link: Linux's default.
_HOST_FRAMES = 1000
#: Memory of a switch per port, bytes; the ports share it.
_PORT_MEMORY = 512 * 1024
_HEADER = 14
#: TCP's congestion control on all hosts: Linux's default. Cloud images set others, such as BBR, with which large
#: exchanges between several hosts take up to 1.6 times as long.
_CONGESTION_CONTROL = "cubic"
#: Sets it in a namespace.
_SET_CONTROL = f"echo {_CONGESTION_CONTROL} > /proc/sys/net/ipv4/tcp_congestion_control"
#: What namespaces may set. Only the first namespace has this list, so a container with a network of its own has none.
_ALLOWED = Path("/proc/sys/net/ipv4/tcp_allowed_congestion_control")
#: Largest number of ranks on a host that can share memory: HOST_RANKS of pace.c.
_MOST_RANKS = 64
#: Settings by which numpy, OpenBLAS and glibc select their code for a vector width in bytes.
_VECTORS = {
    16: {
        "NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL AVX512_SPR",
        "OPENBLAS_CORETYPE": "Nehalem",
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-AVX512F,-AVX512VL,-ERMS",
    },
    32: {
        "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR",
        "OPENBLAS_CORETYPE": "Haswell",
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX512F,-AVX512VL",
    },
    64: {},
}
#: Longest time that a helper program may take to start, seconds.
_STARTS = 5.0
#: Time for which a core is observed to determine its best speed, seconds.
_WATCHED = 3.0
#: Frame sizes in bytes; large ones are used if all hosts' links are fast. Each frame costs this computer about 30 us,
#: whatever its size. An idle link passes one frame at once, which on a slow link could be many whole messages.
_FRAME, _LARGE_FRAME, _FAST = 1500, 9000, 5e6


def missing() -> str | None:
    """Return what this computer lacks for a testbed, in words, or ``None``."""
    if os.geteuid() != 0:
        return "testbed: user must be root, to make network namespaces and control groups"
    for tool in ("ip", "tc", "cc"):
        if shutil.which(tool) is None:
            return f"testbed: {tool} must be installed (iproute2, a C compiler), got none"
    try:
        control_groups.check()
    except UsageError as error:
        return str(error)
    trials = {"shaped links": "tc qdisc add dev lo root tbf rate 1mbit burst 2000 limit 9000"}
    if not _ALLOWED.exists():
        trials[f"TCP's {_CONGESTION_CONTROL}"] = _SET_CONTROL
    for what, trial in trials.items():
        tried = subprocess.run(["unshare", "--net", "sh", "-c", trial], capture_output=True, text=True, check=False)
        if tried.returncode:
            return f"testbed: namespaces with {what} must be allowed, got {tried.stderr.strip()}"
    return None


def state_file(name: str) -> Path:
    """Return the file that tells :mod:`benchmarks.testbed.entry` about a testbed."""
    return _STATES / f"{name}.json"


def _make_states() -> None:
    """Create the folder of files that root reads and runs; no other user may write there."""
    with open_folder(_STATES):
        pass


def is_up(name: str) -> bool:
    """Tell whether a testbed of this name is up."""
    return state_file(name).exists()


def namespace(name: str, host: str) -> str:
    """Return the name of a host's network namespace."""
    return f"{_PREFIX}{name}-{host}"


def build(name: str, hosts: Sequence[Host]) -> None:
    """Build a testbed; an earlier one of the same name is removed first.

    Raises:
        UsageError: If this computer cannot have testbeds, or has too few cores for this one.
    """
    lack = missing()
    if lack is not None:
        raise UsageError(lack)
    _check_room(name, hosts)
    _check_memory(name, hosts)
    remove(name)
    _make_states()
    control_groups.make(name, [SWITCH, *(host.name for host in hosts)])
    _build_switch(name, _frame(hosts))
    racks = {host.rack: None for host in hosts if host.rack is not None}
    for rack in racks:
        _build_rack(name, rack, hosts)
    for host in hosts:
        _build_host(name, host, hosts)
    cores = sorted(os.sched_getaffinity(0))
    streams = cores.pop() if any(host.kind.busy_memory for host in hosts) else None
    cpus = deal_cores(hosts, cores)
    state = {
        "hosts": [_known(name, host, cpus) for host in [None, *hosts]],
        "shared_memory": any(host.shared_memory for host in hosts),
    }
    state_file(name).write_text(json.dumps(state))
    _count_interruptions(name)
    if streams is not None:
        _start(name, SWITCH, [str(compiled.program("streamer.c")), str(streams)])
    _delay(
        name, {_port(host.name): host.latency for host in hosts} | {_port(rack.name): rack.latency for rack in racks}
    )
    _keep(name, sorted({core for host in hosts if not host.loaded for core in cpus[host.index]}))
    for host in hosts:
        _load(name, host)


def _check_room(name: str, hosts: Sequence[Host]) -> None:
    wanted = sum(host.cores for host in hosts)
    cores = len(os.sched_getaffinity(0)) - any(host.kind.busy_memory for host in hosts)
    if wanted > cores:
        raise UsageError(
            f"{name}: processors must be worth at most the {cores} cores of this computer, got {wanted:.2f}: "
            "raise the performance factors"
        )


def _check_memory(name: str, hosts: Sequence[Host]) -> None:
    if len({host.shared_memory for host in hosts}) > 1:  # MPICH requires the same setting on all ranks.
        raise UsageError(f"{name}: shared memory must be had by all hosts, or by none")
    most = max(host.processors for host in hosts)
    if most > _MOST_RANKS:
        raise UsageError(f"{name}: processors of a host must be at most {_MOST_RANKS}, got {most}")


def shares_memory(name: str) -> bool:
    """Tell whether ranks of one host communicate through memory on a testbed that is up."""
    return bool(json.loads(state_file(name).read_text())["shared_memory"])


def _frame(hosts: Sequence[Host]) -> int:
    return _LARGE_FRAME if all(host.bandwidth is None or host.bandwidth > _FAST for host in hosts) else _FRAME


def _add_namespace(name: str) -> None:
    """Add a network namespace, whose settings of TCP do not depend on those of this computer."""
    _call("ip", "netns", "add", name)
    _allow_congestion_control()
    _call("ip", "netns", "exec", name, "sh", "-c", _SET_CONTROL)


def _allow_congestion_control() -> None:
    """Let namespaces set the congestion control: of a computer that started with another one, only the first may.

    The permission stays when the testbed is removed; it changes nothing for whoever does not ask for this algorithm.
    """
    allowed = _ALLOWED.read_text().split() if _ALLOWED.exists() else [_CONGESTION_CONTROL]
    if _CONGESTION_CONTROL in allowed:
        return
    try:
        _ALLOWED.write_text(" ".join([*allowed, _CONGESTION_CONTROL]))
    except OSError as error:
        rule = f"TCP's {_CONGESTION_CONTROL} must be available, as by modprobe tcp_{_CONGESTION_CONTROL}"
        raise UsageError(f"testbed: {rule}, got {', '.join(allowed)}: {error.strerror}") from None


def _build_switch(name: str, frame: int) -> None:
    switch = namespace(name, SWITCH)
    _add_namespace(switch)
    _call("ip", "-n", switch, "link", "set", "lo", "up")
    _build_bridge(switch, _ROOT, frame)
    _call("ip", "-n", switch, "addr", "add", f"{FRONT}/24", "dev", _ROOT)


def _build_bridge(switch: str, bridge: str, frame: int) -> None:
    _call("ip", "-n", switch, "link", "add", bridge, "type", "bridge", "stp_state", "0", "forward_delay", "0")
    _call("ip", "-n", switch, "link", "set", bridge, "mtu", str(frame), "up")


def _build_rack(name: str, rack: Rack, hosts: Sequence[Host]) -> None:
    """Build a rack's own bridge, with a cable to the root that is shaped at both ends."""
    switch, port, frame = namespace(name, SWITCH), _port(rack.name), _frame(hosts)
    _build_bridge(switch, _bridge(rack), frame)
    end = f"{rack.name}-up"
    _call("ip", "-n", switch, "link", "add", port, "type", "veth", "peer", "name", end)
    for device in (port, end):
        _call("ip", "-n", switch, "link", "set", device, "mtu", str(frame), "txqueuelen", "1000", "up")
    _call("ip", "-n", switch, "link", "set", end, "master", _bridge(rack))
    _plug(switch, port, _ROOT, rack.latency, frame)
    if rack.bandwidth is not None:
        _shape(switch, end, rack.bandwidth, frame, port_memory(hosts, rack))
        _shape(switch, port, rack.bandwidth, frame, port_memory(hosts, None))


def _plug(switch: str, port: str, bridge: str, latency: float, frame: int) -> None:
    """Attach the switch's end of a cable to a bridge: directly, or by a second cable that the relay fills."""
    if latency:
        far, near = port + "-far", port + "-near"
        _call("ip", "-n", switch, "link", "add", far, "type", "veth", "peer", "name", near)
        for device in (far, near):
            _call("ip", "-n", switch, "link", "set", device, "mtu", str(frame), "txqueuelen", "1000", "up")
        _call("ip", "-n", switch, "link", "set", near, "master", bridge)
    else:
        _call("ip", "-n", switch, "link", "set", port, "master", bridge)


def _delay(name: str, latencies: Mapping[str, float]) -> None:
    """Start the relay for cables with more than this computer's own latency."""
    words = [word for port, latency in latencies.items() if latency for word in (port, port + "-far", str(latency))]
    if words:
        _start(name, SWITCH, [str(compiled.program("relay.c")), *words])


def _bridge(rack: Rack | None) -> str:
    return _ROOT if rack is None else f"{rack.name}-{_ROOT}"


def _port(label: str) -> str:
    """Return the name of the switch's end of a host's or a rack's cable."""
    return f"{label}-port"


def _build_host(name: str, host: Host, hosts: Sequence[Host]) -> None:
    """Build a host with its cable: eth0 at the host's end, a port with the host's name at the switch's end."""
    here, switch, frame = namespace(name, host.name), namespace(name, SWITCH), _frame(hosts)
    port, bridge = _port(host.name), _bridge(host.rack)
    _add_namespace(here)
    _call("ip", "-n", here, "link", "set", "lo", "up")
    _call("ip", "-n", switch, "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", here)
    _call("ip", "-n", here, "link", "set", "eth0", "address", _hardware(host), "mtu", str(frame), "txqueuelen", "1000")
    # Frames as on a wire: no 64 KB segments that are sent in one piece.
    _call("ip", "-n", here, "link", "set", "eth0", "gso_max_segs", "1")
    _call("ip", "-n", switch, "link", "set", port, "mtu", str(frame), "up")
    _plug(switch, port, bridge, host.latency, frame)
    _call("ip", "-n", here, "link", "set", "eth0", "up")
    _call("ip", "-n", here, "addr", "add", f"{host.address}/24", "dev", "eth0")
    for other in hosts:  # Static neighbours: no address resolution during a measurement.
        if other is not host:
            words = ["lladdr", _hardware(other), "dev", "eth0", "nud", "permanent"]
            _call("ip", "-n", here, "neigh", "replace", other.address, *words)
    if host.bandwidth is not None:
        _shape(here, "eth0", host.bandwidth, frame, _HOST_FRAMES * frame)
        _shape(switch, port, host.bandwidth, frame, port_memory(hosts, host.rack))


def _hardware(host: Host) -> str:
    return f"02:77:00:00:00:{host.index + 1:02x}"


def port_memory(hosts: Sequence[Host], rack: Rack | None) -> int:
    """Return how many bytes can wait at one port of a rack's switch, or of the root switch, while other ports are idle.

    A port may have as much of the memory as is left: half of it. Source: A. K. Choudhury and E. L. Hahne, Dynamic queue
    length thresholds for shared-memory packet switches, IEEE/ACM Transactions on Networking 6 (1998), with factor 1.
    """
    cables = {host.rack for host in hosts if host.rack is not None} if rack is None else {None}
    ports = sum(host.rack == rack for host in hosts) + len(cables)
    return ports * _PORT_MEMORY // 2


def _shape(where: str, device: str, bandwidth: float, frame: int, queue: int) -> None:
    burst = frame + _HEADER + int(bandwidth * _LATE)
    words = ["tbf", "rate", f"{bandwidth * 8:.0f}bit", "burst", str(burst), "limit", str(queue)]
    _call("tc", "-n", where, "qdisc", "replace", "dev", device, "root", *words)


def _load(name: str, host: Host) -> None:
    """Start the background load of a host: busy processes, which share its processors with its ranks."""
    competitor = str(compiled.program("competitor.c"))
    paced = [competitor, repr(host.factor), str(host.processors), str(_contenders(name, host))]
    busy = [sys.executable, "-S", "-c", "while True: pass"] if host.loaded else [*paced, str(_speeds(name))]
    for _ in range(host.background):
        _start(name, host.name, busy)


def _count_interruptions(name: str) -> None:
    """Start what measures the kernel's work for the network, so that ranks are not charged with it: see softirqs.c."""
    file, end = _softirqs(name), time.monotonic() + _STARTS
    _start(name, SWITCH, [str(compiled.program("softirqs.c")), str(file)])
    while not file.exists():
        if time.monotonic() > end:
            file.write_text(f"no answer within {_STARTS:g} s")
        time.sleep(0.01)
    if not (told := file.read_text()).isdigit():
        tell(f"testbed: the kernel's work for the network counts as CPU time of ranks that it interrupts: {told}")


def _softirqs(name: str) -> Path:
    return state_file(name).with_suffix(".softirqs")


def _keep(name: str, cores: Sequence[int]) -> None:
    """Keep idle cores busy at the lowest priority, and tell ranks how fast they are: see keeper.c.

    Cores of loaded hosts are busy anyway, and beside busy processes a keeper would get the same share as each of them:
    the kernel divides time among sessions first, and by priority only within one session.
    """
    best = _best()
    _speeds(name).write_bytes(bytes(2 * 8 * (max(cores, default=0) + 1)))
    for core in cores:
        _start(name, SWITCH, [str(compiled.program("keeper.c")), str(core), str(_speeds(name)), best])


def _best() -> str:
    """Return the best time of the keeper's piece of work, seconds; measured once, and kept until the computer restarts.

    All measurements refer to it: with another value each time, every testbed would have different processors.
    """
    keeper = compiled.program("keeper.c")
    known = _STATES / f"{keeper.name}.best"
    if not known.exists():
        _make_states()
        cores = sorted(os.sched_getaffinity(0))
        each = [_call(str(keeper), "best", str(core), str(_WATCHED)) for core in cores]
        known.write_text(min(each, key=float).strip())
    return known.read_text()


def _contenders(name: str, host: Host) -> Path:
    """Return the file through which computing processes on a host see each other: see competitor.c."""
    return state_file(name).with_suffix(f".{host.name}-contenders")


def _speeds(name: str) -> Path:
    return state_file(name).with_suffix(".speeds")


def _start(name: str, host: str, words: Sequence[str]) -> None:
    """Start a process that runs until its testbed is removed, by a shell so that no parent has to wait for it."""
    command = shlex.join([*entry_command(name), host, "--exec", *words])
    subprocess.run(
        ["/bin/sh", "-c", f"exec >/dev/null 2>&1 </dev/null; {command} &"], start_new_session=True, check=True
    )


def deal_cores(hosts: Sequence[Host], cores: Sequence[int]) -> dict[int | None, list[int]]:
    """Return the core of each processor of a host, by its index; ``None`` stands for all cores without loaded hosts.

    A loaded host has a core of its own. The processors of other hosts are distributed so that all cores have about the
    same load, and ranks stay there: a process that changes its core finds cold caches, and takes up to twice as long.
    """
    free = list(cores)
    cpus: dict[int | None, list[int]] = {host.index: [free.pop(0)] for host in hosts if host.loaded}
    cpus[None] = free or list(cores)
    busy = dict.fromkeys(cpus[None], 0.0)
    first = dict.fromkeys(cpus[None], 0)  # Multi-processor hosts by their first one's core: a single rank uses that.
    paced = [host for host in hosts if not host.loaded]
    for host in sorted(paced, key=lambda host: -1 / host.factor):
        cpus[host.index] = []
        for _ in range(host.processors):
            core = min(busy, key=lambda core: (busy[core], first[core] if host.processors > 1 else 0))
            busy[core] += 1 / host.factor
            cpus[host.index].append(core)
        first[cpus[host.index][0]] += host.processors > 1
    return cpus


def _known(name: str, host: Host | None, cpus: Mapping[int | None, Sequence[int]]) -> dict[str, object]:
    """Return the data needed to enter a host, or the switch, from which programs are started."""
    label = SWITCH if host is None else host.name
    return {
        "name": label,
        "address": FRONT if host is None else host.address,
        "namespace": str(_NAMESPACES / namespace(name, label)),
        "group": control_groups.of(name, label),
        "factor": None if host is None else host.factor,
        "cpus": list(cpus[None if host is None else host.index]),
        "speeds": str(_speeds(name)),
        "softirqs": str(_softirqs(name)),
        "variables": {} if host is None else _variables(name, host),
    }


def _variables(name: str, host: Host) -> dict[str, str]:
    """Return the settings of a host's ranks beyond its pace: restrictions of its processors, and their doorbells."""
    told = dict(_VECTORS[host.kind.vectors]) if host.kind.vectors else {}
    if host.kind.interpreter > 1:
        told["CLUE_TESTBED_INTERPRETER"] = repr(host.kind.interpreter)
    if host.background and not host.loaded:
        told["CLUE_TESTBED_CONTENDERS"] = str(_contenders(name, host))
        told["CLUE_TESTBED_PROCESSORS"] = str(host.processors)
        _contenders(name, host).write_bytes(bytes(4 * (1 + _MOST_RANKS)))
    if host.shared_memory:
        bells = state_file(name).with_suffix(f".{host.name}-bells")
        bells.write_bytes(bytes(4 * _MOST_RANKS))
        told["CLUE_TESTBED_BELLS"] = str(bells)
    return told


def entry_command(name: str) -> list[str]:
    """Return the command that, followed by a host and a command, runs it there."""
    return [sys.executable, "-S", str(Path(__file__).with_name("entry.py")), str(state_file(name))]


def remove(name: str) -> None:
    """Remove everything that belongs to a testbed."""
    control_groups.remove(name)
    for each in _namespaces_of(name):
        _call("ip", "netns", "del", each)
    for file in _STATES.glob(f"{name}.*"):
        file.unlink()


def existing() -> set[str]:
    """Return the names of testbeds that exist at least in part."""
    states = {file.stem for file in _STATES.glob("*.json")}
    spaces = {file.name.removeprefix(_PREFIX).rpartition("-")[0] for file in _NAMESPACES.glob(f"{_PREFIX}*-*")}
    return states | spaces | control_groups.existing()


def _namespaces_of(name: str) -> Iterator[str]:
    beginning = namespace(name, "")
    for file in sorted(_NAMESPACES.glob(f"{beginning}*")):
        if "-" not in file.name.removeprefix(beginning):
            yield file.name


def _call(*words: str) -> str:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise UsageError(f"testbed: {' '.join(words)} must succeed, got {done.stderr.strip()}")
    return done.stdout
