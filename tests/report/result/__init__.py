"""Tests of clue.report.result."""
