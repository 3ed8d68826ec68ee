"""Simulate a program that is written by hand, and check its time against a sum.

Run: python simulate.py

Rank 0 computes for a second and sends 1000 B, rank 1 receives them. The machine computes twice as fast; a message of
1000 B takes 10 us + 1000 B / (1 GB/s) = 11 us to send, 40 us to travel and 5 us to receive.
"""

import clue

program = clue.TraceBuilder(2, program="by hand")
program[0].compute(1.0)
program[0].send(1, nbytes=1000)
program[1].recv(0)

machine = clue.load_machine(
    {
        "name": "pair",
        "nodes": [{"count": 2, "type": "host"}],
        "node_types": {"host": {"performance_factor": 0.5}},
        "network": {
            "between_nodes": {
                "send_delay": {"latency": "10 us", "bandwidth": "1 GB/s"},
                "transmission_delay": "40 us",
                "receive_delay": "5 us",
            }
        },
    }
)

result = clue.simulate(program.build(), machine)
for rank in result.ranks:
    print(f"rank {rank.rank}: {rank.compute:.6f} s computing, {rank.communicate:.6f} s sending or receiving", end="")
    print(f", {rank.wait:.6f} s waiting")
print(f"makespan {result.makespan:.6f} s, by hand {0.5 + 11e-6 + 40e-6 + 5e-6:.6f} s")
