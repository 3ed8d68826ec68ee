"""Traces as JSON documents and text for the terminal."""
