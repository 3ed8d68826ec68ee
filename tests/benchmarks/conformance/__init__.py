"""Tests of the conformance harness."""
