"""Tests of clue and of the virtual layer."""
