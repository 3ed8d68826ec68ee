"""Fitted models beside the papers that they come from: ``python -m benchmarks.models [-o benchmarks/models.md]``."""
