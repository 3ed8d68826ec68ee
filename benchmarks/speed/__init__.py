"""How fast clue simulates, beside its peers; what recording costs. ``python -m benchmarks.speed`` writes README.md."""
