"""Calibration: machines from measurements of real computers. Measures, imports and fits; reads no YAML.

============= ========================================================================================================
measurement   the data of a link: times by message size, with confidence intervals
importing     the outputs of OSU, Intel MPI Benchmarks, NetPIPE, and CSV, as measurements
polyline      piecewise-linear curves with as few points as the data justify
link          a measurement → the link of a machine, with the assumptions made
residuals     the benchmarks simulated on the fitted link, compared with the measured times
network       measurement of a link; all of the above in sequence
contention    pairs that communicate at once → the contention model that predicts them best
kernels       speeds of built-in kernels here, alone and beside copies
processor     recordings and kernels → performance factors by region, memory-contention factors
programs      programs that measure, under mpiexec or in a process of their own, and print the results
launching     starts these and reads their output
machine_file  a machine's YAML, as text
============= ========================================================================================================
"""
