"""Tests of composed models: what nodes take, and what is made of it."""
