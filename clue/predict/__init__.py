"""What applications take on machines: by replays of recordings, by live runs, by any other ``Predictor``."""
