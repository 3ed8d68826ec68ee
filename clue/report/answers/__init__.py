"""Further answers besides a ranking: as text, documents and rows."""
