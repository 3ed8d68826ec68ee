"""Channels between processes: values of any size arrive whole, and a closed channel is noticed."""

from __future__ import annotations

import os
import threading

import pytest

from clue.trace.wire import Channel


def pair() -> tuple[Channel, Channel]:
    """Return both ends of a connection."""
    (a, b), (c, d) = os.pipe(), os.pipe()
    return Channel(a, d), Channel(c, b)


@pytest.mark.parametrize("value", [None, (), [1, (2.5, "x")], b"y" * 65528, b"z" * 3_000_000])
def test_a_value_arrives_whole(value: object) -> None:
    """A value larger than a pipe's buffer is sent in pieces and put together again."""
    one, other = pair()
    sender = threading.Thread(target=one.send, args=(value,))
    sender.start()
    assert other.receive() == value
    sender.join()
    one.close()
    other.close()


def test_the_end_of_the_other_side_is_told() -> None:
    """Reading from a closed channel raises EOFError."""
    one, other = pair()
    one.close()
    with pytest.raises(EOFError):
        other.receive()
    other.close()
