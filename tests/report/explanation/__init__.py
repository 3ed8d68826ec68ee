"""Tests of clue.report.explanation."""
