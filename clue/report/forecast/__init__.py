"""Forecasts of routines as JSON documents and text for the terminal."""
