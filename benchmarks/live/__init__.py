"""The cost of live execution per call, per rank and per byte; and a check that self-scheduling follows speed."""
