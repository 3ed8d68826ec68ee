"""Programs and machines that clue was not made by: to judge what it says of others'."""
