"""Measurements that are run by hand, with a page of results in each folder; see README.md. Not installed.

:mod:`benchmarks.speed` times simulations beside other simulators, :mod:`benchmarks.accuracy` compares predictions with
measurements, :mod:`benchmarks.conformance` runs mpi4py's own tests live, and :mod:`benchmarks.live` measures what live
execution costs. :mod:`benchmarks.testbed` emulates the clusters on which the other benchmarks measure.
"""
