"""The study of scenarios/self-scheduling: which way of sharing a matrix product is the fastest, where and when.

Strategies decide while they run, so they are run live in virtual time; and, to show what that is good for, also
replayed from a trace of equal nodes.
"""
