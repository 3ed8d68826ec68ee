"""Extrapolated traces, plans and refusals as JSON documents, text for the terminal and PNG files."""
