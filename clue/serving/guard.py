"""The guard of the server: it refuses requests from pages of other sites, and without the token if there is one.

A page of another site can make a browser send requests to this server: under a name that its owner lets point here (DNS
rebinding), or by a form or script of its own (CSRF). The first kind has that name as its ``Host``
(:func:`clue.listening.is_own`), the second that site as its ``Origin``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus

from clue.listening import bears, is_own, same

#: Headers of every response: no page may frame or read it, it is not stored, and only the page's own scripts run.
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
    """The reason why a request is refused."""

    status: HTTPStatus
    reason: str


@dataclass(frozen=True, slots=True)
class Guard:
    """Decides which requests are answered.

    Attributes:
        token: The token that requests must carry, if any.
    """

    token: str | None = None

    @property
    def cookie(self) -> str:
        """The value of the cookie that replaces the token: not the token itself."""
        return hashlib.sha256(f"clue serve {self.token}".encode()).hexdigest()

    @property
    def cookie_name(self) -> str:
        """The name of that cookie; browsers send it to all ports of a computer, so each token has a name of its own."""
        return f"clue-{self.cookie[:8]}"

    def refusal(self, method: str, headers: Mapping[str, str], cookies: Mapping[str, str]) -> Refusal | None:
        """Return the reason why a request is refused; ``None``: it is answered.

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
        cookie = cookies.get(self.cookie_name, "")
        return bears(headers.get("authorization", ""), self.token) or same(cookie, self.cookie)

    def admits(self, token: str) -> bool:
        """Tell whether a token from an address is the required one; there a plus may have been read as a blank."""
        return self.token is not None and any(same(each, self.token) for each in (token, token.replace(" ", "+")))
