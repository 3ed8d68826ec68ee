"""The study of scenarios/self-scheduling: which strategy of sharing a matrix product is fastest, where and when.

Strategies decide at run time, so they are run live in virtual time. To show the benefit of live runs, the strategies
are also replayed from a trace of identical nodes.
"""
