"""Tests of queues as JSON documents, text, CSV and pictures."""
