"""What is measured now and then, by hand, with a page of results in each folder; see README.md. Not installed.

:mod:`benchmarks.speed` times simulations beside other simulators, :mod:`benchmarks.accuracy` holds predictions against
measurements, :mod:`benchmarks.conformance` runs mpi4py's own tests live, and :mod:`benchmarks.live` measures what live
execution costs. Clusters to measure on, :mod:`benchmarks.testbed` emulates.
"""
