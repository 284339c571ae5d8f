"""A page for this machine only: plain HTTP on 127.0.0.1, behind a token that stands in the link.

Whoever has no token gets nothing, whatever their user; so does a page of another site, by its Host or Origin. Each
browser has a thread that asks for the newest state whenever the last has been sent: nothing queues up for one that
reads slowly, and one that does not read at all is given up.
"""

import json
import secrets
import socket
import sys
import threading
from collections.abc import Callable
from hmac import compare_digest
from html import escape
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from typing import Any, Final

from sooner.errors import SoonerError
from sooner.finalizing import Finalizer
from sooner.threads import Staying, start_thread
from sooner.ui.dashboard.series import Known
from sooner.ui.dashboard.subject import Subject

HOST: Final = "127.0.0.1"
HTTP_PORT: Final = 80  # which browsers leave out
NEWS_SECONDS: Final = 0.5
STALLED_SECONDS: Final = 5.0  # a browser that takes nothing for so long is given up
FAREWELL_SECONDS: Final = 1.0  # for browsers to take the last state
MOST_BROWSERS: Final = 16
MOST_BODY_BYTES: Final = 4096
PAGE: Final = {
    "": ("index.html", "text/html"),
    "page.css": ("page.css", "text/css"),
    "uPlot.min.css": ("uPlot.min.css", "text/css"),
    "uPlot.iife.min.js": ("uPlot.iife.min.js", "text/javascript"),
    **{name: (name, "text/javascript") for name in ("page.js", "charts.js", "panels.js", "words.js", "compare.js")},
}
SAFETY: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class Server:
    """Serves one subject until it is closed, is forgotten, or the program ends."""

    def __init__(self, subject: Subject, port: int = 0) -> None:
        self._token = secrets.token_urlsafe(24)
        self._http = _Http(subject, self._token, port)
        self._thread = start_thread(self._http.serve, "sooner-dashboard")
        self._finalizer = Finalizer(self, self._http.end)

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self._http.server_port}/{self._token}/"

    @property
    def is_open(self) -> bool:
        return not self._http.ended.is_set()

    def close(self) -> None:
        """Serve it no more. What it showed goes on."""
        self._finalizer()
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def end_soon(self) -> None:
        """The subject has ended: whoever looks at it is told, in a thread that ends then, and it is closed."""
        start_thread(self._say_farewell, "sooner-dashboard-end")

    def wait(self) -> None:
        """Until it is closed."""
        self._http.ended.wait()

    def _say_farewell(self) -> None:
        self._http.say_farewell()
        self.close()

    def __repr__(self) -> str:
        return f"<sooner dashboard at {self.url}{'' if self.is_open else ', closed'}>"

    def _repr_html_(self) -> str:
        link = f'<a href="{escape(self.url)}" target="_blank" rel="noopener">{escape(self.url)}</a>'
        return f"<div><strong>sooner</strong> dashboard: {link if self.is_open else 'closed'}</div>"


class _Http(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, subject: Subject, token: str, port: int) -> None:
        self.subject = subject
        self.token = token
        self.ended = threading.Event()
        self.leaving = threading.Event()  # the next state is the last
        self._open: dict[threading.Thread, socket.socket] = {}
        self._lock = threading.Lock()
        self._is_serving = threading.Event()
        super().__init__((HOST, port), _Handler)

    def serve(self) -> None:
        self._is_serving.set()
        self.serve_forever(poll_interval=0.1)

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            is_full = len(self._open) >= 4 * MOST_BROWSERS
        if is_full:
            self.shutdown_request(request)
            return
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        with self._lock:
            self._open[threading.current_thread()] = request
        try:
            with Staying():
                super().process_request_thread(request, client_address)
        finally:
            with self._lock:
                self._open.pop(threading.current_thread(), None)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that went away is no news; of anything else the program should hear."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)

    def say_farewell(self) -> None:
        self.leaving.set()
        for thread in list(self._open):
            thread.join(FAREWELL_SECONDS)

    def end(self) -> None:
        """No thread is left, and the port is free."""
        self.ended.set()
        self.leaving.set()
        self._is_serving.wait()
        self.shutdown()
        self.server_close()
        with self._lock:
            still = dict(self._open)
        for thread, request in still.items():
            _shut(request)
            if thread is not threading.current_thread():
                thread.join(FAREWELL_SECONDS)


def _shut(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # it is gone


class _Handler(BaseHTTPRequestHandler):
    server: _Http
    timeout = STALLED_SECONDS
    server_version = "sooner"
    sys_version = ""

    def do_GET(self) -> None:
        path = self._path_behind_the_token()
        if path is None:
            self._refuse()
        elif path in PAGE:
            name, kind = PAGE[path]
            self._send(files("sooner.ui.dashboard").joinpath("page", name).read_bytes(), kind)
        elif path == "news":
            self._stream()
        elif path == "metrics":
            self._send(self.server.subject.metrics().encode(), "text/plain; version=0.0.4")
        else:
            self.send_error(HTTPStatus.NOT_FOUND)

    def do_POST(self) -> None:
        path = self._path_behind_the_token()
        if path is None or self.headers.get("Origin") not in self._origins():
            self._refuse()
        elif path == "stop":
            self._do(self.server.subject.stop)
        elif path == "finish":
            try:
                name = json.loads(self._body())["input"]
            except (ValueError, KeyError, TypeError):
                self.send_error(HTTPStatus.BAD_REQUEST)
                return
            self._do(lambda: self.server.subject.finish(str(name)))
        else:
            self.send_error(HTTPStatus.NOT_FOUND)

    def log_message(self, format: str, *args: Any) -> None:
        """Nobody reads a log of it."""

    def _path_behind_the_token(self) -> str | None:
        """What is asked for; None if whoever asks has no right to it."""
        _, _, rest = self.path.partition("/")
        token, slash, path = rest.partition("/")
        is_known = compare_digest(token.encode(), self.server.token.encode())
        is_of_here = f"http://{self.headers.get('Host')}" in self._origins()
        origin = self.headers.get("Origin")
        return path if is_known and slash and is_of_here and (origin is None or origin in self._origins()) else None

    def _origins(self) -> tuple[str, ...]:
        port = f":{self.server.server_port}"
        ports = ("", port) if self.server.server_port == HTTP_PORT else (port,)
        return tuple(f"http://{host}{one}" for host in (HOST, "localhost") for one in ports)

    def _refuse(self) -> None:
        self.send_error(HTTPStatus.FORBIDDEN, explain="Open the link that the program showed; it has a token.")

    def _body(self) -> bytes:
        length = self.headers.get("Content-Length", "0")
        return self.rfile.read(int(length) if length.isdecimal() and int(length) <= MOST_BODY_BYTES else 0)

    def _do(self, what: Callable[[], None]) -> None:
        try:
            what()
        except SoonerError as error:
            self._send(str(error).encode(), "text/plain", HTTPStatus.CONFLICT)
        else:
            self._send(b"", "text/plain")

    def _send(self, content: bytes, kind: str, status: HTTPStatus = HTTPStatus.OK) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind if "=" in kind else f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def end_headers(self) -> None:
        for name, value in SAFETY.items():
            self.send_header(name, value)
        super().end_headers()

    def _stream(self) -> None:
        """Server-sent events: what does not change, and then the newest state again and again."""
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        subject, known = self.server.subject, Known()
        self._tell("about", subject.about())
        over = ""
        while not over and not self.server.ended.is_set():
            is_last = self.server.leaving.wait(NEWS_SECONDS if known.rows else 0)
            over = subject.over() or ("The dashboard was closed." if is_last else "")
            self._tell("news", {**subject.news(known), "over": over})

    def _tell(self, event: str, data: dict[str, Any]) -> None:
        text = json.dumps(data, separators=(",", ":"), allow_nan=False, default=str)
        self.wfile.write(f"event: {event}\ndata: {text}\n\n".encode())
