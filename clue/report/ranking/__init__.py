"""Rankings as JSON documents, text for the terminal, PNG files and tables for other programs."""
