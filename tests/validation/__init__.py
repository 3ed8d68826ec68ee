"""Tests of comparing predictions with measurements."""
