"""How right predictions are: programs on emulated clusters, predicted and then run.

``python -m benchmarks.accuracy.validate`` writes the table and the page. Predictions rest on recordings on this
computer and on calibration runs; nothing is fitted to the measured cases.
"""
