"""Tests of the uncertainty of predictions."""
