"""Models fitted to what was measured, beside what they predict: the papers' studies rebuilt.

``python -m benchmarks.models`` is that of Kishimoto and Ichikawa; ``benchmarks.models.fast`` and ``.pempis`` are the others.
"""
