"""Tests of the configuration reader and of the shipped machines."""
