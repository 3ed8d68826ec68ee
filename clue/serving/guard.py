"""Which requests are answered: none from other sites' pages, none without the token where there is one.

A page of another site can make a browser ask this server: by a name that its owner lets point here (DNS rebinding), or
by a form or script of its own (CSRF). The first has that name as its ``Host`` (:func:`clue.listening.is_own`), the
second that site as its ``Origin``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus

from clue.listening import bears, is_own, same

#: The cookie that stands for the token in a browser; not the token itself.
COOKIE = "clue"
#: What is said of every answer: no page may frame or read it, nothing of it is kept, and of scripts only its own run.
HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; "
    "connect-src 'self'; form-action 'none'; frame-ancestors 'none'; base-uri 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
#: Methods that change nothing.
_SAFE = {"GET", "HEAD"}


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request is not answered."""

    status: HTTPStatus
    reason: str


@dataclass(frozen=True, slots=True)
class Guard:
    """Decides which requests are answered.

    Attributes:
        token: What they must carry, if anything.
    """

    token: str | None = None

    @property
    def cookie(self) -> str:
        """What the cookie of those holds who have shown the token."""
        return hashlib.sha256(f"clue serve {self.token}".encode()).hexdigest()

    def refusal(self, method: str, headers: Mapping[str, str], cookies: Mapping[str, str]) -> Refusal | None:
        """Return why a request is not answered; ``None``: it is.

        Args:
            method: Its method.
            headers: Its headers, by names in lower case.
            cookies: Its cookies.
        """
        host = headers.get("host", "")
        if not is_own(host):
            return Refusal(HTTPStatus.MISDIRECTED_REQUEST, "host must be an address of this computer or its name")
        if method not in _SAFE:
            origin, site = headers.get("origin"), headers.get("sec-fetch-site", "same-origin")
            if (origin is not None and origin != f"http://{host}") or site not in {"same-origin", "none"}:
                return Refusal(HTTPStatus.FORBIDDEN, "origin must be this server's own page")
        if self.token is not None and not self._is_known(headers, cookies):
            return Refusal(HTTPStatus.UNAUTHORIZED, "token must be that of this server: open its address with ?token=…")
        return None

    def _is_known(self, headers: Mapping[str, str], cookies: Mapping[str, str]) -> bool:
        assert self.token is not None
        return bears(headers.get("authorization", ""), self.token) or same(cookies.get(COOKIE, ""), self.cookie)

    def admits(self, token: str) -> bool:
        """Tell whether a token is the one that is asked for."""
        return self.token is not None and same(token, self.token)
