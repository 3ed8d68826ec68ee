"""Everything that all engines share: the program to replay, the costs of its ops on a machine, and common rules.

This package imports no engine.
"""
