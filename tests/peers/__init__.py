"""Cross-validation of clue with SimGrid, on the same programs and equivalent machines."""
