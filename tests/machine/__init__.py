"""Tests of machines as values."""
