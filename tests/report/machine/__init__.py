"""Tests of clue.report.machine."""
