"""Malicious inputs: mutated traces and misleading files."""
