"""The hardware library: all parts, and each with where its figures come from."""
