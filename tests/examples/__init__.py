"""The examples, and what they print."""
