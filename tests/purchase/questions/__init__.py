"""Tests of a buyer's questions other than the ranking of options."""
