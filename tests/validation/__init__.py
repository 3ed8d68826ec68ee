"""Tests of predictions held against measurements."""
