"""Fitted models as JSON documents, text for the terminal and PNG files."""
