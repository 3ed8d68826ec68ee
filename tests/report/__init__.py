"""Tests of the reports: documents, tables and pictures."""
