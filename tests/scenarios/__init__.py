"""The shipped scenarios and their programs."""
