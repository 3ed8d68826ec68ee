"""Tests of the module through which clue opens and writes files."""
