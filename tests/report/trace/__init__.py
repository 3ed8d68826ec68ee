"""Tests of clue.report.trace."""
