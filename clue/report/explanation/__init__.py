"""Explanations of simulations and rankings as JSON documents, text for the terminal and PNG files."""
