"""RequestGuard: every request passes it; what comes from elsewhere, or without token, is refused.

A page of another site can make a browser send requests to this machine, also under a name of that
site which it points here (DNS rebinding). So the Host must be a name of this server, an Origin
must be our own, and a server that others reach asks for its token.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import json
import re
import socket
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from dataclasses import dataclass
from html import escape
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

from estimica.apps.web.session.settings import LOOPBACK_NAMES, Settings, is_loopback

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
Header = tuple[bytes, bytes]

BODY = 4_000_000  # bytes of a request that is not an upload; chosen: room for the text of a study
FORM = 100_000  # bytes that a form adds to an uploaded file; chosen: its boundaries and fields
#: what Starlette says where a browser has left before its answer: no news for the terminal
GONE = "No response returned."
SAFE = ("GET", "HEAD", "OPTIONS")
UPLOADS = re.compile(r"/_nicegui/client/[^/]+/upload/[^/]+$|/upload(/|$)")
POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; "
    "style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self' data:; "
    "connect-src 'self'; worker-src 'self' blob:; frame-src 'self' blob:; object-src 'none'; "
    "base-uri 'self'; form-action 'self'; frame-ancestors 'self'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "SAMEORIGIN",
    "referrer-policy": "same-origin",  # no-referrer would turn our own Origin into null
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=(), payment=()",
}
#: for a page that was found in the folder: its scripts run, but as of no site and without network
FOREIGN_PAGE = {
    "content-security-policy": "sandbox allow-scripts allow-popups allow-downloads; "
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data: blob:; font-src data:; frame-ancestors 'self'"
}
#: for whoever has the token, but not in the address
TOKEN_FORM = (
    '<form action="/" method="get"><label>Token <input name="token" type="password" size="36" '
    'autocomplete="off" autofocus></label> <button>Open</button></form>'
)


@dataclass(frozen=True)
class Refusal:
    """Why a request is not let through."""

    status: int
    reason: str


class RequestGuard:
    """ASGI middleware around the workbench, for pages, uploads, streams and websockets."""

    def __init__(self, app: App, settings: Settings) -> None:
        self._app = app
        self._settings = settings
        self._hosts = _hosts(settings)
        self._cookie = f"estimica-{settings.port}"  # cookies do not tell ports apart
        self._proof = _proof(settings.token)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the request through, or answer it."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        request = _Request(scope)
        refusal = self._refusal(request)
        if refusal is not None:
            await _answer(request, receive, send, refusal)
        elif self._brings_token(request):
            await self._welcome(request, send)
        elif scope["type"] == "websocket":
            await self._app(scope, receive, send)
        else:
            await self._passed(request, receive, send)

    # --- who may come in -------------------------------------------------------------------------

    def _refusal(self, request: _Request) -> Refusal | None:
        return self._by_host(request) or self._by_origin(request) or self._by_token(request)

    def _by_host(self, request: _Request) -> Refusal | None:
        hosts = request.all("host")
        if len(hosts) != 1:
            return Refusal(400, "a request names one host")
        if hosts[0].lower() in self._hosts or self._is_number(hosts[0]):
            return None
        return Refusal(421, "this server is not known by that name")

    def _is_number(self, host: str) -> bool:
        """An address in numbers cannot be pointed here by others, unlike a name."""
        if self._settings.is_loopback:
            return False
        name, _, port = host.rpartition(":")
        try:
            ipaddress.ip_address(name.strip("[]"))
        except ValueError:
            return False
        return port == str(self._settings.port)

    def _by_origin(self, request: _Request) -> Refusal | None:
        origins = request.all("origin")
        host = request.one("host").lower()
        elsewhere = Refusal(403, "this comes from a page of another site")
        if origins:
            own = {f"http://{host}", f"https://{host}"}
            return None if [o.lower() for o in origins] in [[o] for o in own] else elsewhere
        site = request.one("sec-fetch-site")
        if site not in ("", "same-origin", "none"):
            return None if request.opens_start_page else elsewhere
        if request.is_safe or site == "same-origin" or self._bears_token(request):
            return None
        return Refusal(403, "a program that changes something names its origin, or has the token")

    def _by_token(self, request: _Request) -> Refusal | None:
        if not self._settings.token or self._bears_token(request):
            return None
        if _same(request.cookie(self._cookie), self._proof) or self._brings_token(request):
            return None
        return Refusal(
            401, "this workbench asks for a token; open the address that `estimica serve` printed"
        )

    def _bears_token(self, request: _Request) -> bool:
        kind, _, given = request.one("authorization").partition(" ")
        token = self._settings.token
        return bool(token) and kind.lower() == "bearer" and _same(given.strip(), token)

    def _brings_token(self, request: _Request) -> bool:
        """The address printed at the start was opened."""
        if not self._settings.token or request.is_websocket or request.method != "GET":
            return False
        return _same(request.query.get("token", ""), self._settings.token)

    async def _welcome(self, request: _Request, send: Send) -> None:
        """Turn the token of the address into a cookie, and the address into one without it.

        A page that moves on does so as its own site; after a redirect of a link from elsewhere the
        browser would keep the strict cookie back.
        """
        rest = [(n, v) for n, v in request.pairs if n != "token"]
        path = quote("/" + request.path.lstrip("/"), safe="/~:@!$&'()*+,;=-._")
        target = escape(path + (f"?{urlencode(rest)}" if rest else ""))
        page = (
            '<!doctype html><meta charset="utf-8"><title>Estimica</title>'
            f'<meta http-equiv="refresh" content="0;url={target}">'
            f'<p><a href="{target}">Go on to the workbench</a></p>'
        )
        cookie = f"{self._cookie}={self._proof}; HttpOnly; SameSite=Strict; Path=/"
        if request.scope.get("scheme") == "https":
            cookie += "; Secure"
        extra = [(b"set-cookie", cookie.encode()), (b"cache-control", b"no-store")]
        await _send_page(send, 200, page.encode(), extra)

    # --- what goes in and out --------------------------------------------------------------------

    async def _passed(self, request: _Request, receive: Receive, send: Send) -> None:
        limit = self._settings.upload_limit + FORM if UPLOADS.search(request.path) else BODY
        refusal = Refusal(413, f"more than {limit / 1e6:g} MB are not taken")
        length = request.one("content-length")
        if length and (not length.isdecimal() or int(length) > limit):
            await _answer(request, receive, send, refusal)
            return
        body = _Body(request, receive, send, limit, refusal)
        try:
            await self._app(request.scope, body.receive, body.send)
        except _TooLargeError:
            await body.refuse()
        except RuntimeError as error:
            if str(error) != GONE:
                raise


class _TooLargeError(Exception):
    """Raised to the application when a body goes on beyond its limit."""


class _Body:
    """The two ends of a request: bytes in are counted, headers out are added."""

    def __init__(
        self, request: _Request, receive: Receive, send: Send, limit: int, refusal: Refusal
    ) -> None:
        self._request = request
        self._receive = receive
        self._send = send
        self._left = limit
        self._refusal = refusal
        self._started = False
        self._refused = False

    async def receive(self) -> Message:
        """The next bytes, up to the limit."""
        message = await self._receive()
        if message["type"] == "http.request":
            self._left -= len(message.get("body", b""))
            if self._left < 0:
                raise _TooLargeError
        return message

    async def send(self, message: Message) -> None:
        """What the application answers; an answer to a body that was cut off is ours."""
        if self._refused:
            return
        if message["type"] == "http.response.start":
            if self._left < 0:
                await self.refuse()
                return
            self._started = True
            message["headers"] = _with_headers(message.get("headers", ()))
        await self._send(message)

    async def refuse(self) -> None:
        """Say that it was too much, unless an answer is on its way."""
        if not self._started and not self._refused:
            self._refused = True
            await _answer(self._request, self._receive, self._send, self._refusal)


class _Request:
    """The parts of a request that the gate looks at."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.is_websocket = scope["type"] == "websocket"
        self.method = "" if self.is_websocket else str(scope["method"]).upper()
        self.path = str(scope.get("path", ""))
        text = scope.get("query_string", b"").decode("latin-1")
        self.pairs = parse_qsl(text, keep_blank_values=True, max_num_fields=None)
        self.query = dict(self.pairs)

    def all(self, name: str) -> list[str]:
        """Every header of this name."""
        wanted = name.encode()
        return [v.decode("latin-1") for n, v in self.scope["headers"] if n.lower() == wanted]

    def one(self, name: str) -> str:
        """The header of this name; nothing where there is none or several disagree."""
        values = set(self.all(name))
        return values.pop() if len(values) == 1 else ""

    def cookie(self, name: str) -> str:
        """The value of a cookie."""
        jar: SimpleCookie = SimpleCookie()
        for line in self.all("cookie"):
            for part in line.split(";"):
                try:
                    jar.load(part)
                except CookieError:  # one of another server on this host
                    continue
        return jar[name].value if name in jar else ""

    @property
    def is_safe(self) -> bool:
        """Changes nothing: neither a method that does, nor a websocket."""
        return self.method in SAFE

    @property
    def opens_start_page(self) -> bool:
        """A link of another site to the start page was followed."""
        by_hand = self.one("sec-fetch-mode") == "navigate"
        in_window = self.one("sec-fetch-dest") in ("document", "")
        return self.method == "GET" and self.path == "/" and by_hand and in_window

    @property
    def wants_page(self) -> bool:
        """Comes from somebody who looks at pages."""
        return "text/html" in self.one("accept")


async def _answer(request: _Request, receive: Receive, send: Send, refusal: Refusal) -> None:
    if request.is_websocket:
        await receive()  # the wish to connect
        await send({"type": "websocket.close", "code": 1008, "reason": refusal.reason})
        return
    extra = [(b"cache-control", b"no-store"), (b"connection", b"close")]
    if refusal.status == 401:
        extra.append((b"www-authenticate", b"Bearer"))
    if request.wants_page:
        reason = escape(refusal.reason)
        page = (
            '<!doctype html><meta charset="utf-8"><title>Estimica: refused</title>'
            '<body style="font:1rem/1.5 system-ui,sans-serif;margin:15vh auto;max-width:34rem">'
            f"<h1>Refused</h1><p>{reason[0].upper()}{reason[1:]}.</p>"
            f"{TOKEN_FORM if refusal.status == 401 else ''}"
            '<p><a href="/">Start page</a></p>'
        )
        await _send_page(send, refusal.status, page.encode(), extra)
        return
    body = json.dumps({"error": refusal.reason}).encode()
    await _send_page(send, refusal.status, body, extra, b"application/json")


async def _send_page(
    send: Send,
    status: int,
    body: bytes,
    extra: Iterable[Header],
    kind: bytes = b"text/html; charset=utf-8",
) -> None:
    headers = [
        (b"content-type", kind),
        (b"content-length", str(len(body)).encode()),
        *extra,
    ]
    await send({"type": "http.response.start", "status": status, "headers": _with_headers(headers)})
    await send({"type": "http.response.body", "body": body})


def _with_headers(headers: Iterable[Header]) -> list[Header]:
    """Those of the application, and ours where it has none of that name."""
    own = list(headers)
    known = {name.lower() for name, _ in own}
    more = [(n.encode(), v.encode()) for n, v in HEADERS.items() if n.encode() not in known]
    return own + more


def _hosts(settings: Settings) -> frozenset[str]:
    """What a Host header may say, in lower case."""
    names = {n for n in settings.names if n}
    local = {*LOOPBACK_NAMES, settings.host}
    if not is_loopback(settings.host):
        local |= {socket.gethostname(), socket.getfqdn()}
    hosts = {n if re.search(r":\d+$", n) else f"{n}:{settings.port}" for n in names}
    hosts |= {f"{n}:{settings.port}" for n in local if n}
    if settings.port == 80:  # browsers leave it out
        hosts |= {*names, *local}
    return frozenset(n.lower() for n in hosts)


def _proof(token: str) -> str:
    """What the cookie holds: it shows that the token was known, and does not tell it."""
    return hmac.new(token.encode(), b"estimica workbench", hashlib.sha256).hexdigest()


def _same(given: str, wanted: str) -> bool:
    return hmac.compare_digest(given.encode(), wanted.encode())
