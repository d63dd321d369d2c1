"""A model hub on this machine: just what huggingface_hub asks of the real one."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

COMMIT = "0123456789abcdef0123456789abcdef01234567"


class Hub:
    """Models by id, each a dict of files; all requests are remembered."""

    def __init__(self) -> None:
        self.models: dict[str, dict[str, bytes]] = {}
        self.asked: list[str] = []
        self.url = ""

    def answer(self, path: str) -> tuple[int, dict[str, str], bytes]:
        for name, files in self.models.items():
            if path.startswith(f"/api/models/{name}/tree/"):
                return 200, {}, json.dumps([_file(*item) for item in files.items()]).encode()
            if path in (f"/api/models/{name}", f"/api/models/{name}/revision/main"):
                siblings = [{"rfilename": file, "size": len(content)} for file, content in files.items()]
                return 200, {}, json.dumps({"id": name, "sha": COMMIT, "siblings": siblings}).encode()
            before, _, file = path.partition(f"/{name}/resolve/{COMMIT}/")
            if not before and file in files:
                tag = {"ETag": f'"{_oid(files[file])}"', "X-Repo-Commit": COMMIT}
                return 200, tag, files[file]
        return 404, {"X-Error-Code": "RepoNotFound"}, b"{}"


def _oid(content: bytes) -> str:
    return hashlib.sha1(content, usedforsecurity=False).hexdigest()


def _file(path: str, content: bytes) -> dict[str, Any]:
    return {"type": "file", "path": path, "size": len(content), "oid": _oid(content)}


@contextmanager
def serving() -> Iterator[Hub]:
    """A hub that answers until the block is left."""
    hub = Hub()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            hub.asked.append(f"{self.command} {path}")
            status, headers, body = hub.answer(path)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body)

        do_HEAD = do_GET  # noqa: N815

        def log_message(self, *_: object) -> None:
            """Nothing is printed."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    hub.url = f"http://127.0.0.1:{server.server_port}"
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
