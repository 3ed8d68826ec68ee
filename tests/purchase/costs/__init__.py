"""Tests of the costs of options."""
