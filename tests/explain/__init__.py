"""Tests of explanations: what a makespan is made of and depends on."""
