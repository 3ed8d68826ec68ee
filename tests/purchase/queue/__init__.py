"""Queues of jobs: policies by hand, formulas of queueing theory, mixes and rankings."""
