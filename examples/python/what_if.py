"""Find the value of a faster network: the same recording, with bandwidths from 10 MB/s to 10 GB/s.

Run: python what_if.py
"""

from pathlib import Path

import clue

traces = Path(__file__).parent / "../../scenarios/traces"
trace = clue.Trace.open(traces / "cholesky-1500-4.clue.zip")

for bandwidth in ("10 MB/s", "100 MB/s", "1 GB/s", "10 GB/s"):
    machine = clue.load_machine(
        {
            "name": bandwidth,
            "nodes": [{"count": 4, "type": "host"}],
            "node_types": {"host": {}},
            "network": {
                "between_nodes": {
                    "send_delay": {"latency": "10 us", "bandwidth": bandwidth},
                    "transmission_delay": "20 us",
                    "eager_limit": "64 KB",
                }
            },
        }
    )
    result = clue.simulate(trace, machine, engine="reference")
    waiting = sum(rank.wait for rank in result.ranks) / sum(rank.finish for rank in result.ranks)
    print(f"{bandwidth:>9}: {result.makespan * 1e3:7.1f} ms, of which ranks wait {waiting:.0%}")
