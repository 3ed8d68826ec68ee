"""Models fitted to what was measured, beside what they predict: the papers' studies rebuilt."""
