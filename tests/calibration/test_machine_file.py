"""A machine file that is read and written again keeps its content."""

from __future__ import annotations

from clue.calibration.machine_file import rewritten
from clue.config import load_machine
from clue.config.yaml12 import parse_yaml

#: Every key that a machine with equal nodes may have, with a value other than its default.
STATED = {
    "name": "all",
    "nodes": [{"count": 4, "type": "node"}],
    "node_types": {
        "node": {
            "processors": 4,
            "domains": 2,
            "memory": "16 GB",
            "performance_factor": {"default": 0.5, "a b": 0.25, "assemble, solve": 0.75, "ℝ 𝕏": 0.5},
            "speed": {"fft": "2 Gflop/s", "x, y": "3 Gflop/s"},
            "memory_contention_factor": {2: 0.9, 4: {"default": 0.8, "fft": 0.5}},
            "background_load": 0.5,
            "time_slice": "3 ms",
            "cold_start": {"after": [["20 us", "1 us"], ["1 ms", "5 us"]], "at_most": 0.5},
            "copy_bandwidth": "16 GB/s",
            "price": "900 EUR ± 5 %",
            "initialisation_delay": "1 s",
            "spawn_delay": "2 s",
            "packing_delay": "1 ns/B",
            "reduction_delay": "2 ns/B",
            "wait": "poll",
            "source": "measured: here",
            "noise": {"computation": 0.02, "factor": 0.01},
        }
    },
    "network": {
        "between_nodes": {
            "send_delay": {"latency": "10 us", "bandwidth": "1 GB/s"},
            "send_overhead": {"latency": "2 us", "bandwidth": "5 GB/s"},
            "transmission_delay": {"points": [["0 B", "40 us"], ["1 KB", "50 us"], ["1 MB", "9 ms"]]},
            "receive_delay": "5 us",
            "eager_limit": "64 KB",
            "acknowledged_from": "8 KB",
            "busy": {"latency": "1 us", "bandwidth": "500 MB/s"},
            "bucket": "9 KB",
            "noise": {"send": 0.01, "transmission": 0.03},
        },
        "within_node": {
            "send_delay": "1 us",
            "send_overhead": "1 us",
            "transmission_delay": "2 us",
            "copy_time": {"latency": "2 us", "bandwidth": "8 GB/s"},
            "rendezvous": "read",
        },
        "across_domains": {"send_delay": "2 us", "transmission_delay": "3 us", "acknowledged_from": "1 KB"},
        "progress": "calls",
        "contention": {"ports": {"busy": {"latency": "1 us", "bandwidth": "250 MB/s"}}},
        "collectives": {
            "library": "openmpi",
            "bcast": "chain",
            "allreduce": [{"up_to": "2 KiB", "algorithm": "recursive_doubling"}, {"algorithm": "ring"}],
        },
    },
    "source": "here",
    "notes": ["a note"],
    "reference_processor": "a processor",
}


def test_whatever_a_machine_states_is_written_and_read_again() -> None:
    """Rewriting a machine with the same contention gives an equal machine, so calibration loses nothing else."""
    machine = load_machine(STATED)
    text = rewritten(machine, ("ports:", "  busy: {latency: 1 us, bandwidth: 250 MB/s}")).text()
    written = parse_yaml(text, "all.yaml").value
    assert isinstance(written, dict)
    assert load_machine(written) == machine
