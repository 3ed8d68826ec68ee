"""Calibration: what was measured of real computers becomes a machine. Measures, imports, fits; reads no YAML.

============= ========================================================================================================
measurement   what is known of a link: times by message size, with the confidence that repetition gives
importing     the outputs of OSU, Intel MPI Benchmarks, NetPIPE, and CSV, as measurements
polyline      piecewise-linear curves with as few points as the data justify
link          a measurement → the link of a machine, with what had to be assumed
residuals     the benchmarks simulated on the fitted link, beside what was measured
network       a link measured here; all of the above in a row
contention    pairs that talk at once → the model of contention that predicts them best
kernels       how fast built-in kernels run here, alone and beside copies
processor     recordings and kernels → performance factors by region, shares beside busy processors
programs      what runs under mpiexec, or in a process of its own, and prints what it measured
launching     starts these and reads them
machine_file  a machine's YAML, as text
============= ========================================================================================================
"""
