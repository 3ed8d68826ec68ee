"""The server of a live ranking, in Starlette: three files, the page, and two requests with changed figures.

``POST /ranking`` returns the ranking, ``POST /full`` the same with the parts that take longer. A response contains only
the pieces of the page that the browser does not have.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from http import HTTPStatus
from typing import TypeGuard

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from clue.config.changes import ChangeError
from clue.errors import ClueError
from clue.printable import printable
from clue.report.page import FILES, file_of_page
from clue.serving.guard import HEADERS, Guard
from clue.serving.live import Answer, LiveRanking, SupersededError
from clue.units import count_of

#: Largest body of a request, bytes: changed figures are short.
MOST_BYTES = 64 * 1024
#: Takes a line for each ranking.
Log = Callable[[str], None]
Rank = Callable[[Mapping[str, str]], Answer]


class BodyError(ClueError):
    """Report a request with a body that the page does not send."""


def application(live: LiveRanking, token: str | None = None, log: Log = lambda _line: None) -> ASGIApp:
    """Return the server's application.

    Args:
        live: The ranking, already made for the file.
        token: The token that requests must carry, if any.
        log: Called with a line for each ranking, which contains no text of the request.
    """

    def page(_request: Request) -> Response:
        return HTMLResponse(live.page())

    def own(request: Request) -> Response:
        name = str(request.scope["path"]).removeprefix("/")
        return Response(file_of_page(name), headers={"Content-Type": FILES[name]})

    async def asked(request: Request, rank: Rank) -> Response:
        try:
            changes, known = _question(request, await _body(request))
        except BodyError as error:
            return JSONResponse({"figures": {}, "others": [str(error)]}, HTTPStatus.BAD_REQUEST)
        return await run_in_threadpool(_ranked, rank, changes, known, log)

    own_files = [Route(f"/{name}", own) for name in FILES]
    questions = {"/ranking": live.changed, "/full": live.in_full}
    asking = [Route(path, partial(asked, rank=rank), methods=["POST"]) for path, rank in questions.items()]
    return _Guarded(Starlette(routes=[Route("/", page), *own_files, *asking]), Guard(token))


def _ranked(rank: Rank, changes: dict[str, str], known: Mapping[str, str], log: Log) -> Response:
    try:
        answer = rank(changes)
    except SupersededError:
        return JSONResponse({"superseded": True}, HTTPStatus.CONFLICT)
    except ChangeError as error:
        figures = {name: list(map(printable, texts)) for name, texts in error.of_figures.items()}
        return _faulty(figures, error.others)
    except ClueError as error:
        return _faulty({}, error.faults)
    number = count_of(len(changes), "changed figure")
    log(f"ranked with {number} in {1000 * answer.seconds:.0f} ms, {count_of(answer.simulations, 'simulation')}")
    told = {
        "pieces": list(_new(answer.pieces, known)),
        "milliseconds": 1000 * answer.seconds,
        "simulations": answer.simulations,
        "awaited": answer.awaited,
    }
    return JSONResponse(told)


def _new(pieces: Mapping[str, str], known: Mapping[str, str]) -> Iterator[tuple[str, str, str | None]]:
    """Yield names of pieces, digests of them, and those that the browser does not have."""
    for name, piece in pieces.items():
        digest = hashlib.blake2b(piece.encode(), digest_size=8).hexdigest()
        yield name, digest, None if known.get(name) == digest else piece


def _faulty(figures: dict[str, list[str]], others: tuple[str, ...]) -> Response:
    told = {"figures": figures, "others": list(map(printable, others))}
    return JSONResponse(told, HTTPStatus.UNPROCESSABLE_ENTITY)


async def _body(request: Request) -> bytes:
    found = bytearray()
    try:
        async for piece in request.stream():
            found += piece
            if len(found) > MOST_BYTES:
                raise BodyError(f"body must have at most {MOST_BYTES:,} bytes, got more")
    except ClientDisconnect:
        raise BodyError("body must be complete, got a part") from None
    return bytes(found)


def _question(request: Request, body: bytes) -> tuple[dict[str, str], dict[str, str]]:
    """Return the changes in a body, and the digests of the pieces that the browser has."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip()
    if kind != "application/json":  # a form on another site cannot send this type
        raise BodyError("content type must be application/json, got another one")
    try:
        told = json.loads(body)
    except (ValueError, RecursionError):
        raise BodyError("body must be JSON, got other text") from None
    changes = told.get("changes") if isinstance(told, dict) else None
    known = told.get("known", {}) if isinstance(told, dict) else None
    if not _is_texts(changes) or not _is_texts(known):
        raise BodyError('body must be {"changes": {FIGURE: TEXT}, "known": {PIECE: DIGEST}}, got something else')
    return changes, known


def _is_texts(value: object) -> TypeGuard[dict[str, str]]:
    return isinstance(value, dict) and all(isinstance(text, str) for text in value.values())


class _Guarded:
    """Asks the guard before each request, and adds the common headers to each response."""

    def __init__(self, app: ASGIApp, guard: Guard) -> None:
        self._app, self._guard = app, guard

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return  # other protocols are not supported
        request = Request(scope)
        refusal = self._guard.refusal(request.method, _headers(request), request.cookies)
        answer: ASGIApp = self._app
        if refusal is not None:
            answer = PlainTextResponse(refusal.reason, refusal.status)
            if refusal.status is HTTPStatus.UNAUTHORIZED and self._guard.admits(request.query_params.get("token", "")):
                answer = self._welcome()
        await answer(scope, receive, _with_headers(send))

    def _welcome(self) -> Response:
        """Replace the token in the address by a cookie, so the address no longer contains it."""
        response = RedirectResponse("/", HTTPStatus.SEE_OTHER)
        response.set_cookie(self._guard.cookie_name, self._guard.cookie, httponly=True, samesite="strict")
        return response


def _headers(request: Request) -> dict[str, str]:
    return {name.lower(): value for name, value in request.headers.items()}


def _with_headers(send: Send) -> Send:
    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            own = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
            message = {**message, "headers": [*message.get("headers", ()), *own]}
        await send(message)

    return sent
