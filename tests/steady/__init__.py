"""Sampled simulations of steady programs."""
