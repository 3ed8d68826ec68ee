"""Hostile inputs of all commands: valid files with some words changed, and things that are not such files."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

from clue.trace import Op, TraceBuilder
from tests.hostile.mutations import write_trace

_MACHINE = """\
name: pair
nodes: [{count: 2, type: host}, {count: 1, type: other}]
node_types:
  host: {processors: 2, memory: 1 GB, performance_factor: {default: 0.5, solve: 2}, price: 900 EUR, time_slice: 3 ms,
         background_load: 0.5, noise: {computation: 0.03, factor: 0.1}, reduction_delay: 1 ns/B, packing_delay: 1 ns/B}
  other: {memory_contention_factor: {2: 0.75}, speed: {solve: 500 Mflop/s}, wait: poll, spawn_delay: 1 ms}
network:
  between_nodes:
    send_delay: {latency: 10 us, bandwidth: 1 GB/s}
    transmission_delay: {points: [[0 B, 40 us], [1 KB, 50 us], [1 MB, 9 ms]]}
    receive_delay: 5 us
    eager_limit: 64 KB
    noise: {send: 0.1, transmission: 0.05}
  within_node: {send_delay: 1 us, transmission_delay: {latency: 1 us, bandwidth: 10 GB/s}}
  contention: CONTENTION
  collectives: {allreduce: ring, library: openmpi}
changes: [{at: 1 s, node_types: {host: {performance_factor: 2}}}]
notes: [one, two]
"""
_CONTENTIONS = (
    "{ports: {busy: 1 us}}",
    "ports",
    "none",
    "{factor: {1: 1, 2: 1.5, 8: 3}}",
    "{flows: {topology: switch, bandwidth: 1 GB/s}}",
    "{flows: {topology: fat_tree, down: [4, 2], up: [1, 2], links: [1, 1], bandwidth: 1 GB/s}}",
    "{flows: {topology: torus, dimensions: [3, 2], bandwidth: 1 GB/s}}",
)
_SIMULATION = """\
program: {trace: t.clue}
machine: pair.yaml
placement: {order: cyclic, ranks_per_processor: 2}
instances: 2
"""
_COMPARISON = """\
name: which
budget: 4000 EUR
workloads:
  large: {program: {trace: t.clue}, instances: 2, weight: 0.5, ranks: [3], memory: 10 MB}
  small: {program: {trace: t.clue}, ranks: [3]}
options:
  four: {machine: pair.yaml, nodes: {host: 4, other: 1}, price: 3000 EUR}
  two: {machine: pair.yaml, with: {network: {between_nodes: {receive_delay: 9 us}}}, price: 1500 EUR}
criterion: points
"""
_GENERATED = """\
name: offers
budget: 9000 EUR
workloads:
  small: {program: {trace: t.clue}, instances: fill, ranks: [3], memory: {3: 10 MB}}
generate:
  nodes: {from: 1, to: 4, step: 1}
  mixed: true
  price: 100 EUR
  node_types:
    a: {machine: pair.yaml, type: host, price: 900 EUR}
    b: {machine: pair.yaml, type: other, speed: {solve: 1 Gflop/s}, memory: 1 GB, price: 1200 EUR}
  networks:
    ethernet: {machine: pair.yaml, contention: ports, price_per_node: 60 EUR, most_nodes: 6,
               switch: {ports: 12, price: 90 EUR}}
criterion: cost_per_run
service_life: 900 d
"""
_VALIDATION = """\
programs: {p: {trace: "t.clue"}}
machines: {ours: pair.yaml}
table: runs.csv
"""
_TABLE = "program,machine,ranks,size,measured\n# a remark\np,ours,3,1000,0.5\np,ours,3,1000,0.6\n"
_OSU = """\
# OSU MPI Latency Test v5.9
# Size          Latency (us)
0                       1.50
1                       1.55
1024                    2.50
65536                  20.00
1048576               250.00
"""
_IMB = """\
# Benchmarking PingPong
# #processes = 2
       #bytes #repetitions      t[usec]   Mbytes/sec
            0         1000         1.50         0.00
         1024         1000         2.50       409.60
      1048576           40       250.00      4194.30
"""
_NETPIPE = "0: 1 bytes 1000 times --> 5.08 Mbps in 1.50 usec\n1: 1024 bytes 100 times --> 800.0 Mbps in 9.77 usec\n"
_COLUMNS = "size,half round trip (us),bandwidth (MB/s)\n0,1.5,\n1024,2.5,400\n1048576,250,4000\n"
_GOAL = "num_ranks 2\nrank 0 {\nl1: calc 5\nl2: send 8b to 1 tag 0\nl2 requires l1\n}\nrank 1 {\nrecv 8b from 0\n}\n"
_ACTIONS = "0 init\n1 init\n0 send 1 0 5\n1 recv 0 0 5\n0 bcast 8 1\n1 bcast 8 1\n0 compute 5\n0 finalize\n"

#: A file that is mutated, its content, and the commands that read it.
_SUBJECTS: tuple[tuple[str, str, tuple[tuple[str, ...], ...]], ...] = (
    (
        "pair.yaml",
        _MACHINE,
        (
            ("simulate", "run.yaml"),
            ("simulate", "run.yaml", "--json"),
            ("simulate", "run.yaml", "--explain"),
            ("simulate", "run.yaml", "--samples", "3"),
            ("simulate", "which.yaml", "--workers", "1"),
            ("simulate", "which.yaml", "--json", "--workers", "1"),
            ("inspect", "pair.yaml"),
            ("inspect", "pair.yaml", "--json"),
            ("convert", "pair.yaml", "out/pair.xml"),
            ("validate", "validate.yaml", "--workers", "1"),
        ),
    ),
    ("run.yaml", _SIMULATION, (("simulate", "run.yaml"), ("inspect", "run.yaml", "--json"))),
    ("which.yaml", _COMPARISON, (("simulate", "which.yaml", "--workers", "1"), ("inspect", "which.yaml"))),
    ("offers.yaml", _GENERATED, (("simulate", "offers.yaml", "--workers", "1", "--top", "3"),)),
    ("validate.yaml", _VALIDATION, (("validate", "validate.yaml", "--workers", "1"),)),
    ("runs.csv", _TABLE, (("validate", "validate.yaml", "--json", "--workers", "1"),)),
    ("osu.txt", _OSU, (("calibrate", "network", "osu.txt", "-o", "out/o.yaml"),)),
    ("imb.txt", _IMB, (("calibrate", "network", "imb.txt", "--json", "-o", "out/o.yaml"),)),
    ("np.out", _NETPIPE, (("calibrate", "network", "np.out", "-o", "out/o.yaml"),)),
    ("times.csv", _COLUMNS, (("calibrate", "network", "times.csv", "-o", "out/o.yaml"),)),
    ("x.goal", _GOAL, (("convert", "x.goal", "out/x.clue"), ("convert", "x.goal", "out/x.ti"))),
    ("all.ti", "all\n", (("convert", "all.ti", "out/x.clue"),)),
    ("all", _ACTIONS, (("convert", "all.ti", "out/x.clue"), ("convert", "all.ti", "out/x.goal"))),
)

_WORDS: tuple[str, ...] = (
    "", "0", "-1", "1", "2", "1.5", "1e9", "1e308", "1e-308", "5e-324", "99999999999999999999", "-0.0", "nan",
    ".nan", ".inf", "-.inf", "inf", "0x10", "1_000", "null", "true", "no", "[]", "{}", "[[[]]]", "{a: {b: c}}",
    "&a [*a]", "*a", "!!python/none x", "0 s", "1 us", "1e300 s", "1e-300 s", "1e308 h", "0 B", "1 B", "1e300 GB",
    "1 PB", "1e-300 B/s", "1e300 GB/s", "1 GB/s", "1e300 flop/s", "1e-300 flop/s", "0 EUR", "1e300 EUR", "1 XYZ",
    "1 ns/B", "1e300 s/B", "100 %", "µ", "名", '"\\e[31m"', '"\\u202e"', '"\\0"', '"a\\nb"', "$\\frac{", "x" * 3000,
    "a/" * 2000, "/dev/zero", "/dev/stdin", "pipe", "out", "../..", "-o", "t.clue", "pair.yaml", "run.yaml",
    "1000000000", "16777217", "block", "fill", "{", "}", "#", ",", ":", "\t", "'", '"',
)  # fmt: skip
#: Replacements for a number, before its unit.
_NUMBERS = (
    "0", "1", "2", "3", "7", "0.1", "0.999999", "1e-3", "1e-9", "1e-30", "1e-300", "5e-324", "1e3", "1e6", "1e9",
    "1e12", "1e15", "1e30", "1e150", "1e300", "1.7e308", "-1", "1000", "100000", "1000000", "16777217",
    "1000000000", "9007199254740993", "9223372036854775807", "99999999999999999999",
)  # fmt: skip
#: Replacements for a whole file.
_FILES: dict[str, Callable[[Path], object]] = {
    "a pipe": os.mkfifo,
    "a folder": Path.mkdir,
    "a device": lambda path: path.symlink_to("/dev/zero"),
    "a link to itself": lambda path: path.symlink_to(path.name),
    "a terabyte": lambda path: [path.touch(), os.truncate(path, 10**12)],  # type: ignore[func-returns-value]
    "nothing": lambda path: path.write_bytes(b""),
    "not there": lambda _: None,
    "bytes": lambda path: path.write_bytes(bytes(range(256)) * 40),
    "zeros": lambda path: path.write_bytes(bytes(5000)),
    "half a letter": lambda path: path.write_bytes(b"a: \xc3"),
    "UTF-16": lambda path: path.write_bytes("a: b\n".encode("utf-16")),
    "deep": lambda path: path.write_text("[" * 50_000),
    "aliases": lambda path: path.write_text(_aliases()),
    "long line": lambda path: path.write_text("a" * 2_000_000),
    "many lines": lambda path: path.write_text("a: 1\n" * 200_000),
}


def _aliases() -> str:
    """Return a few lines of YAML aliases that stand for ten billion values."""
    lines = ["a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 10)]
    return "\n".join(lines) + "\n"


def hostile_command(random: Random, folder: Path) -> tuple[Sequence[str], str]:
    """Write files into a folder and mutate one; return a command that reads it, and a description of the change."""
    machine = _MACHINE.replace("CONTENTION", random.choice(_CONTENTIONS))
    for name, text, _ in _SUBJECTS:
        (folder / name).write_text(machine if name == "pair.yaml" else text)
    write_trace(example().build(), folder / "t.clue")
    os.mkfifo(folder / "pipe")
    name, _, commands = random.choice((*_SUBJECTS, *(_SUBJECTS[0],) * 6, *_SUBJECTS[1:4] * 2))
    path, command = folder / name, random.choice(commands)
    if random.random() < 0.15:
        what = random.choice(tuple(_FILES))
        path.unlink()
        _FILES[what](path)
        return command, f"{name} is {what}"
    done = []
    text = path.read_text()
    for _ in range(random.choice((1, 1, 2, 4))):
        text, what = _changed(random, text)
        done.append(what)
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    return command, f"{name}: {'; '.join(done)}"


def _changed(random: Random, text: str) -> tuple[str, str]:
    """Replace, remove, double or add a word of a text."""
    if random.random() < 0.6 and (numbers := [*re.finditer(r"(?<![\w.])\d[\d.]*(?![\w.])", text)]):
        number, new = random.choice(numbers), random.choice(_NUMBERS)
        return text[: number.start()] + new + text[number.end() :], f"{number[0]} became {new}"
    words = re.findall(r"[\w.%/-]+(?: [A-Za-z%/]+)?|\s+|.", text)
    at = random.choice([i for i, word in enumerate(words) if not word.isspace()] or [0])
    old, way = words[at] if words else "", random.randrange(8)
    if way == 0:
        words[at : at + 1] = []
    elif way == 1:
        words[at:at] = [old, " "]
    elif way == 2:
        words[at:at] = [random.choice(_WORDS), " "]
    elif way == 3:
        words[at : at + 1] = [random.choice(words or _WORDS)]
    else:
        words[at : at + 1] = [random.choice(_WORDS)]
    return "".join(words), f"{old[:20]!r} became {''.join(words[at : at + 1])[:30]!r} ({way})"


def example() -> TraceBuilder:
    """Return a program of three ranks with many kinds of calls."""
    trace = TraceBuilder(3, "p.py")
    for rank in range(3):
        trace[rank].compute(0.01 * (rank + 1), "solve")
        trace[rank].sendrecv((rank + 1) % 3, 100_000, (rank - 1) % 3)
        trace[rank].collective(Op.ALLREDUCE, 1000)
        trace[rank].add(Op.PACK, nbytes=1000)
        trace.declare(rank, region="solve", flops=1e6, peak_memory=10**6)
    trace[0].send(1, 10)
    trace[1].recv(0)
    return trace
