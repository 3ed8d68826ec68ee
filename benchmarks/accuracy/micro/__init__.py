"""Micro-tests: times of one or a few messages, measured on a testbed and simulated on clue's description of it.

``python -m benchmarks.accuracy.micro MACHINE.yaml`` prints measured against simulated, step by step and size by size.
"""
