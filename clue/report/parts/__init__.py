"""The hardware library: all parts, and each part with the sources of its figures."""
