"""Queues of jobs as JSON documents, text for the terminal and PNG files."""
