"""Tests of quantities."""
