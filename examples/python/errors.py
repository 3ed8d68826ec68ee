"""See how clue reports mistakes: all errors are of one class, and each message names place, rule and value.

Run: python errors.py
"""

import clue

try:
    clue.load_machine({"nodes": [{"type": "host"}], "node_types": {"host": {"memory": "4"}}, "network": {"latency": 1}})
except clue.ConfigError as error:
    print("a machine with three mistakes:")
    for fault in error.faults:
        print(f"  {fault}")

program = clue.TraceBuilder(2, program="both receive")
program[0].recv(1)
program[1].recv(0)
try:
    clue.simulate(program.build(), clue.load_machine("two-hosts"))
except clue.DeadlockError as error:
    print("two ranks that both receive first:")
    for each in error.blocked:
        print(f"  rank {each.rank} waits for {each.waits_for}")
