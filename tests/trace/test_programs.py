"""Traces of one program."""

from __future__ import annotations

from clue.trace.programs import other_programs


def test_every_trace_of_another_program_is_named() -> None:
    """The first decides; a trace without a program is another one, and all faults are told."""
    traces = [("a.clue", "heat.py"), ("b.clue", "heat.py"), ("c.clue", "lu.py"), ("d.clue", "")]
    assert list(other_programs(traces)) == [
        "c.clue: program must be that of a.clue (heat.py), got lu.py",
        "d.clue: program must be that of a.clue (heat.py), got none",
    ]
    assert not list(other_programs(traces[:2])) and not list(other_programs([]))
