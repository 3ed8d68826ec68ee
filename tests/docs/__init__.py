"""Tests of the README, the pages of the site and the examples."""
