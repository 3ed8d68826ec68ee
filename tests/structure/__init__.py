"""Tests of what traces are made of."""
