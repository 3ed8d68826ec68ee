"""Calibrations as text for the terminal and PNG files."""
