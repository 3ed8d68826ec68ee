"""Tests of composed models: the times of nodes, and the models built from them."""
