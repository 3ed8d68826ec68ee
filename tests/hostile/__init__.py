"""Inputs that somebody made to harm: mutated traces, and files that are not what they say."""
