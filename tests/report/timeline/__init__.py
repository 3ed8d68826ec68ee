"""Tests of clue.report.timeline."""
