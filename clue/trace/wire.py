"""The wire between a live rank and the kernel: marshalled values in frames of known length, over a pair of pipes.

Both sides run the same Python on the same computer, and only one of them runs at a time.
"""

from __future__ import annotations

import marshal
import os
from struct import Struct
from typing import Any

_LENGTH = Struct("<Q")
_CHUNK = 1 << 16


class Channel:
    """One end of a pair of pipes."""

    def __init__(self, incoming: int, outgoing: int) -> None:
        self.incoming = incoming
        self.outgoing = outgoing

    def send(self, value: Any) -> None:
        """Send a value.

        Raises:
            BrokenPipeError: If the other side has ended.
            ValueError: If the value cannot be marshalled.
        """
        data = marshal.dumps(value)
        frame = _LENGTH.pack(len(data)) + data
        sent = os.write(self.outgoing, frame)
        while sent < len(frame):
            sent += os.write(self.outgoing, memoryview(frame)[sent:])

    def receive(self) -> Any:
        """Wait for a value.

        Raises:
            EOFError: If the other side has ended.
        """
        data = os.read(self.incoming, _CHUNK)
        while len(data) < _LENGTH.size:
            data += self._more(_CHUNK)
        (length,) = _LENGTH.unpack_from(data)
        missing = length + _LENGTH.size - len(data)
        if missing:
            data = self._rest(data, missing)
        return marshal.loads(memoryview(data)[_LENGTH.size :])

    def close(self) -> None:
        """Close this end; the other side notices at its next read or write."""
        os.close(self.incoming)
        os.close(self.outgoing)

    def _rest(self, data: bytes, missing: int) -> bytes:
        parts = [data]
        while missing:
            part = self._more(min(missing, 1 << 20))
            parts.append(part)
            missing -= len(part)
        return b"".join(parts)

    def _more(self, at_most: int) -> bytes:
        data = os.read(self.incoming, at_most)
        if not data:
            raise EOFError
        return data
