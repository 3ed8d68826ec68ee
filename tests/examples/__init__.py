"""Tests of the examples and their output."""
