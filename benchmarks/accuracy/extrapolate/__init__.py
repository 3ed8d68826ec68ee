"""Recorded small, predicted large: traces extrapolated from recordings on few ranks, beside recordings on many.

Each program is recorded as ``clue extrapolate --plan`` says for its target, and at the target itself, three times in
turn. The target has four times the ranks and twice the size of the largest recordings. Extrapolated and recorded traces
are compared op by op, and by their makespans on three machines. The baseline is a fit of the small recordings'
makespans there, as Extra-P makes it.
"""
