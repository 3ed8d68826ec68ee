"""Skeletons as JSON documents and text for the terminal."""
