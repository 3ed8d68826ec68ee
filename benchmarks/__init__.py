"""What is measured now and then, by hand: ``python -m benchmarks.NAME``. Not installed."""
