"""The room of extrapolation."""
