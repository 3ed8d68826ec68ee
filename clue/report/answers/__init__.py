"""What is answered beside a ranking: as text, documents and rows."""
