"""Traces as loops: JSON documents and text for the terminal."""
