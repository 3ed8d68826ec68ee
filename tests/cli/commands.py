"""A small simulation and comparison, and commands on them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from clue.cli import main
from clue.trace import Trace, TraceBuilder

MACHINE = """\
name: pair
nodes: [{count: 2, type: host}]
node_types: {host: {processors: 1, performance_factor: 0.5, price: 900 EUR}}
network:
  between_nodes:
    send_delay: {latency: 10 us, bandwidth: 1 GB/s}
    transmission_delay: 40 us
    receive_delay: 5 us
    eager_limit: 64 KB
"""


def ping_pong(nbytes: int = 1000) -> Trace:
    """Return a ping-pong of two ranks: rank 0 computes for a second, then 1 KB goes there and back."""
    trace = TraceBuilder(2, program="pingpong.py")
    trace[0].compute(1.0)
    for source, dest in ((0, 1), (1, 0)):
        trace[source].send(dest, nbytes)
        trace[dest].recv(source)
    return trace.build()


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Run a command and return its exit status, standard output and standard error."""
    status = main(arguments)
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def edit(name: str, old: str, new: str) -> Callable[[], None]:
    """Return a function that replaces text in a file."""

    def change() -> None:
        text = Path(name).read_text()
        assert old in text
        Path(name).write_text(text.replace(old, new))

    return change
