"""What all engines share: the program to replay, what its ops cost on a machine, rules that no engine owns.

No engine is imported here.
"""
