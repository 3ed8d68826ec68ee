"""Tests of reports: documents, tables and pictures."""
