"""Validation of predictions: programs on emulated clusters are predicted, and then run for real.

``python -m benchmarks.accuracy.validate`` writes the table and the page. Predictions are based on recordings on this
computer and on calibration runs; nothing is fitted to the measured cases.
"""
