"""Tests of forecasts: routines, stores, availability, paths, grids, sequences."""
