"""Tests of clue.formats."""
