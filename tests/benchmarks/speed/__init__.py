"""Tests of the benchmarks of speed."""
