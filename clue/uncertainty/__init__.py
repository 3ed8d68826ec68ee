"""Uncertainty of predictions: noise of bursts and networks is drawn, simulated, and turned into intervals.

A sample is one draw of all stated noise. It turns the given program and machine into others, with other bursts, factors
and delays. Both are ordinary values, so every engine gives the same figures for a sample.

Draws belong to things, not to simulations: the bursts of a program, the performance factor of a kind of processor and
the delays of a kind of link are drawn once in a sample, wherever they occur (common random numbers). So the common
parts of two machines vary together, and only the differences between the machines make their order uncertain.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from clue.first_use import loaded_on_first_use

if TYPE_CHECKING:
    from clue.uncertainty.bursts import BurstNoise, draw_bursts
    from clue.uncertainty.machines import draw_machine, states_noise
    from clue.uncertainty.makespans import NO_NOISE, draw, is_uncertain, sample_errors, sample_makespans
    from clue.uncertainty.model_error import Character, Expected, ModelError, Scatter, student
    from clue.uncertainty.noise import Sample, Sampling
    from clue.uncertainty.order import CERTAIN, probability_of_best, shared_positions
    from clue.uncertainty.recordings import noise_of_recordings, typical_recording
    from clue.uncertainty.spread import LEVEL, TAIL, Sampled, Spread

__all__ = [
    "CERTAIN",
    "LEVEL",
    "NO_NOISE",
    "TAIL",
    "BurstNoise",
    "Character",
    "Expected",
    "ModelError",
    "Sample",
    "Sampled",
    "Sampling",
    "Scatter",
    "Spread",
    "draw",
    "draw_bursts",
    "draw_machine",
    "is_uncertain",
    "noise_of_recordings",
    "probability_of_best",
    "sample_errors",
    "sample_makespans",
    "shared_positions",
    "states_noise",
    "student",
    "typical_recording",
]

# Code that only describes an interval does not need the simulator.
_HOMES = {
    "bursts": ("BurstNoise", "draw_bursts"),
    "machines": ("draw_machine", "states_noise"),
    "makespans": ("NO_NOISE", "draw", "is_uncertain", "sample_errors", "sample_makespans"),
    "model_error": ("Character", "Expected", "ModelError", "Scatter", "student"),
    "noise": ("Sample", "Sampling"),
    "order": ("CERTAIN", "probability_of_best", "shared_positions"),
    "recordings": ("noise_of_recordings", "typical_recording"),
    "spread": ("LEVEL", "TAIL", "Sampled", "Spread"),
}
__getattr__ = loaded_on_first_use(__name__, _HOMES)
