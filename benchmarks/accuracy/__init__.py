"""Errors of predictions: one module or package for each study, with its page beside it; see README.md."""
