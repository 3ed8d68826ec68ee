"""Tests of fitted times."""
