"""Access to the servers of clue, by one rule: open to programs on this computer, to others only with a token.

A browser on this computer also requests pages of other sites, whose owners may let their names point here (DNS
rebinding). So each request must name this computer.
"""

from __future__ import annotations

import errno
import hmac
import ipaddress
import os
import socket

from clue.errors import UsageError

#: Default address of servers.
LOOPBACK = "127.0.0.1"
#: Minimum length of a token, characters.
_SHORTEST = 16


def check_token(address: str, token: str | None, place: str = "") -> None:
    """Check that a server that other computers can reach requires a token that is hard to guess.

    Args:
        address: The address at which it listens.
        token: The token, if there is one. It is never shown.
        place: The file or variable that has it, for the message.

    Raises:
        UsageError: If the address is not an IP address, a required token is missing, or a token is too weak.
    """
    try:
        loopback = ipaddress.ip_address(address).is_loopback
    except ValueError:
        raise UsageError(f"--address must be an IP address of this computer, got {address}") from None
    if token is None and not loopback:
        raise UsageError(f"--token-file must be given where others can ask, at {address}, got none")
    if token is not None and (len(token) < _SHORTEST or not token.isascii() or not token.isprintable()):
        got = str(len(token)) if len(token) < _SHORTEST else "others"
        rule = f"token must be at least {_SHORTEST} printable ASCII characters, got {got}"
        raise UsageError(f"{place}: {rule}" if place else rule)


def family(address: str) -> socket.AddressFamily:
    """Return the family of an address."""
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def refusal(error: OSError | OverflowError) -> str:
    """Return why an address cannot be listened at."""
    if isinstance(error, OSError) and error.errno == errno.EADDRINUSE:
        return f"{os.strerror(errno.EADDRINUSE)}: name another port (--port), or 0 for any that is free"
    return getattr(error, "strerror", None) or str(error)


def bears(header: str, token: str) -> bool:
    """Tell whether an ``Authorization`` header has the token."""
    return same(header, f"Bearer {token}")


def same(given: str, wanted: str) -> bool:
    """Tell whether a secret equals the expected one, in a time that does not reveal how much of it matches."""
    return hmac.compare_digest(given.encode("utf-8", "replace"), wanted.encode())


def is_own(host: str) -> bool:
    """Tell whether a ``Host`` header names this computer: by an address, or by a name that others cannot point here."""
    name, _, port = host.rpartition(":") if not host.endswith("]") else (host, "", "")
    if not name or not port.isdecimal():
        name = host
    if name.lower() in {"localhost", socket.gethostname().lower()}:
        return True
    try:
        ipaddress.ip_address(name.removeprefix("[").removesuffix("]"))
    except ValueError:
        return False
    return True
