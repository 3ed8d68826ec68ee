"""Tests of the shipped scenarios and their programs."""
