"""Opening and writing files at the edge of clue."""
