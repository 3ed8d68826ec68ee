"""Speed of clue compared with other simulators; cost of recording. ``python -m benchmarks.speed`` writes README.md."""
