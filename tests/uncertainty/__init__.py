"""Tests of how sure a prediction is."""
