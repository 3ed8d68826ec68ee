"""Tests of explanations: the parts of a makespan, and the parameters on which it depends."""
