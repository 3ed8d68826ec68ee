"""Tests of what options cost."""
