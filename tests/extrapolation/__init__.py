"""Tests of extrapolation."""
