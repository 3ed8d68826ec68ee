"""Predicted times of applications on machines: by replays of recordings, live runs, or any other ``Predictor``."""
