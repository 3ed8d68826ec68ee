"""How right predictions are: programs on emulated clusters, predicted and then run. ``python -m benchmarks.validate``.

Predictions rest on recordings on this computer and on calibration runs; the measured cases are fitted to nothing.
"""
