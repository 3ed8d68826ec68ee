"""The contents of the cache as text for the terminal."""
