"""Micro-tests: times of one message, or a few, on a testbed, and on the machine as described to clue.

``python -m benchmarks.accuracy.micro MACHINE.yaml`` prints measured against simulated, step by step and size by size.
"""
