"""Cross-validation: clue beside SimGrid, on the same programs and machines that mean the same."""
