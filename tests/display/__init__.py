"""What notebooks show, and data frames."""
