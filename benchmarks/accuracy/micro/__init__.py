"""Micro-tests: what one message, or a few, take on a testbed, and on the machine that clue was told.

``python -m benchmarks.accuracy.micro MACHINE.yaml`` prints measured against simulated, step by step and size by size.
"""
