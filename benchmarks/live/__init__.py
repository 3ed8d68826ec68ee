"""What live execution costs: per call, per rank and per byte, and that self-scheduling follows speed under it."""
