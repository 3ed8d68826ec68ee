"""Tests of where clue keeps things: who may write there, what is believed of it, who makes it."""
