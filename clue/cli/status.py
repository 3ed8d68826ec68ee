"""Exit statuses that no error of clue carries."""

#: What shells report for a program ended by Ctrl-C; a comparison that was interrupted still prints what it found.
INTERRUPTED = 130
