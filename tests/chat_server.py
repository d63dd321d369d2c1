"""A real chat server for tests: it behaves well, badly, or not at all, as a script says."""

import json
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from mudy.engines.endpoint import Endpoint

KEY = "sk-a-key-that-nobody-may-see"
TEXT = "Concrete flood walls failed the town. Beaver dams slow the river down."
Step = Callable[["Handler"], None]


class Handler(BaseHTTPRequestHandler):
    """Each request takes the next step of a script; the last step is for all that follow."""

    steps: list[Step]
    seen: list[dict[str, Any]]

    def do_POST(self) -> None:
        length = int(self.headers["Content-Length"])
        body = json.loads(self.rfile.read(length))
        self.seen.append({"path": self.path, "headers": dict(self.headers), **body})
        self.steps[min(len(self.seen), len(self.steps)) - 1](self)

    def log_message(self, *_: Any) -> None:
        pass

    def send(self, status: int, body: bytes, headers: dict[str, str] | None = None, length: int | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        self.wfile.write(body)


def says(content: Any, **more: Any) -> Step:
    """A completion in the usual form."""
    ended = more.pop("finish_reason", "stop")
    choice = {"index": 0, "message": {"role": "assistant", "content": content, **more}, "finish_reason": ended}
    return lambda handler: handler.send(200, json.dumps({"choices": [choice]}).encode())


def fails(status: int, headers: dict[str, str] | None = None, **error: Any) -> Step:
    """An error in the usual form."""
    return lambda handler: handler.send(status, json.dumps({"error": error}).encode(), headers)


def sends(body: bytes, status: int = 200, length: int | None = None) -> Step:
    return lambda handler: handler.send(status, body, length=length)


class Server:
    """A server on this machine, and what it was asked."""

    def __init__(self) -> None:
        self.seen: list[dict[str, Any]] = []
        self.steps: list[Step] = []
        script = {"steps": self.steps, "seen": self.seen}
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), type("Scripted", (Handler,), script))
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"
        self.waits: list[float] = []

    def endpoint(self, *steps: Step, **options: Any) -> Endpoint:
        self.steps[:] = steps
        endpoint = Endpoint(self.url, "some-model", options.pop("key", KEY))
        vars(endpoint).update({"timeout": 5.0, "pause": 0.001, "sleep": self.waits.append} | options)
        return endpoint
