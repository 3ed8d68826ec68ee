"""Tests of skeletons."""
