"""Tests of caveats."""
