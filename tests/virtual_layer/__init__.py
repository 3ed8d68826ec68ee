"""Tests of the virtual layer, which record small programs."""
