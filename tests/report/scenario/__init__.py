"""Tests of clue.report.scenario."""
