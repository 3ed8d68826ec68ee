"""Tests of clue.report.shared."""
