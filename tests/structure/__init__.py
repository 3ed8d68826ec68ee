"""Tests of the structure that is found in traces."""
