"""Tests of live runs."""
