"""Programs that calibration starts, under mpiexec or alone; each prints JSON lines and nothing else.

They are read by :mod:`clue.calibration.launching`, and import of clue only what a bare computer has: neither numpy nor
anything that draws, shows or simulates.
"""
