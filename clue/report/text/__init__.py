"""Tables for the terminal: every function returns a rich renderable, legible at 100 columns without colour.

Nothing is printed here. rich is loaded when a function is called.
"""

from clue.report.text.machine import machine_text
from clue.report.text.ranking import ranking_text
from clue.report.text.result import result_text
from clue.report.text.scenario import scenario_text
from clue.report.text.trace import trace_text
from clue.report.text.warnings import warnings_text

__all__ = ["machine_text", "ranking_text", "result_text", "scenario_text", "trace_text", "warnings_text"]
