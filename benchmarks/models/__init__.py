"""Models fitted to what was measured, beside what they predict: the papers' studies rebuilt.

``python -m benchmarks.models`` is the study of Kishimoto and Ichikawa, ``benchmarks.models.pempis`` that of PEMPIs-Het,
``benchmarks.models.fast`` that of FAST.
"""
