"""Recorded small, predicted large: traces that are made of recordings on few ranks, beside recordings on many.

Each program is recorded as ``clue extrapolate --plan`` says for its target, and at the target itself, three times in
turn. The target has four times the ranks and twice the size of the largest recordings. Made and recorded traces are
compared op by op, and by what they take on three machines. Its rival are fits of what the small recordings take
there, as Extra-P makes them.
"""
