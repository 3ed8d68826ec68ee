"""Programs that calibration starts, under mpiexec or alone; each prints JSON lines and nothing else.

:mod:`clue.calibration.launching` reads their output. They import only those parts of clue that work on a bare computer:
neither numpy nor anything that plots, prints or simulates.
"""
