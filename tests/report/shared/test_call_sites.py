"""Names of call sites, which tell them apart."""

from __future__ import annotations

from clue.report.shared.call_sites import labels
from clue.trace.sites import UNKNOWN, Frame, Site


def site(*frames: tuple[str, int, int]) -> Site:
    """Return a call path through these functions, lines and positions of p.py, outermost first."""
    return Site(tuple(Frame("p.py", function, line, at) for function, line, at in frames))


def test_calls_in_one_line_are_numbered_in_the_order_of_the_program() -> None:
    """Two calls in a line, or the ends of a region that begins there, have numbers; a call alone there has none."""
    sites = [UNKNOWN, site(("main", 14, 244)), site(("main", 16, 300)), site(("main", 14, 196))]
    assert [each.name for each in labels(sites)] == ["(unknown)", "p.py:14 (2)", "p.py:16", "p.py:14 (1)"]


def test_callers_tell_calls_apart_before_numbers_do() -> None:
    """A call in a function that two lines call has its callers; numbers tell apart what callers cannot.

    Here one of the two lines calls the function twice.
    """
    called = ("send", 3, 10)
    sites = [site(("main", 20, 5), called), site(("main", 21, 7), called), site(("main", 21, 9), called)]
    assert list(map(str, labels(sites))) == [
        "p.py:3 send (from p.py:20)",
        "p.py:3 (1) send (from p.py:21)",
        "p.py:3 (2) send (from p.py:21)",
    ]
