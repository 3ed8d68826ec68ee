"""Tests of the benchmark of live runs."""
