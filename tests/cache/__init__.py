"""Tests of clue's cache folders: who may write there, which files are trusted, and which process makes them."""
