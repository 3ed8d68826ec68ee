"""Tests of notebook output and data frames."""
