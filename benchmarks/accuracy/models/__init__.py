"""Models fitted to measurements, and their predictions: reproductions of studies from papers.

``python -m benchmarks.accuracy.models`` is the study of Kishimoto and Ichikawa, and with ``.models.rebuilt`` the same
on an emulated cluster; ``.models.pempis`` is the study of PEMPIs-Het, ``.models.fast`` that of FAST.
"""
