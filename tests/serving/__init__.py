"""Tests of the server of a live ranking."""
