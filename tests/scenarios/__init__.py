"""Tests of the kernel: the meaning of every op."""
