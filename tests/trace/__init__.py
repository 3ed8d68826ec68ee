"""Tests of the trace format."""
