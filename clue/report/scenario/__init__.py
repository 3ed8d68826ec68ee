"""Comparisons before they are simulated as JSON documents and text for the terminal."""
