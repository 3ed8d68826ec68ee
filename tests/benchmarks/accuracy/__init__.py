"""Tests of the studies of accuracy."""
