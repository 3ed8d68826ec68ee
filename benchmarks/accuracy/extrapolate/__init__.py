"""Traces extrapolated from recordings on few ranks, compared with recordings on many ranks.

Each program is recorded at the small sizes that ``clue extrapolate --plan`` asks for, and at the target itself, three
times in turn. The target has four times the ranks and twice the size of the largest of the small recordings.
Extrapolated and recorded traces are compared op by op, and by their makespans on three machines. The baseline is a fit
of the small recordings' makespans on the same machine, as Extra-P makes it.
"""
