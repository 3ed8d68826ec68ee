"""Tests of the virtual layer: small programs, recorded."""
