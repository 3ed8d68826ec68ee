"""Tests of clue.report.ranking."""
