"""Tests of clue.balance."""
