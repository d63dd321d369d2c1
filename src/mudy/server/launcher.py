"""The process of the service: its socket, its signals, and how it ends."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from ipaddress import ip_address
from types import FrameType

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from mudy.server import logs
from mudy.server.app import create_app
from mudy.server.config import Config

BACKLOG = 2048
KEEP_ALIVE = 65  # seconds that an idle connection stays open: longer than clients keep theirs, so that none is cut off
CLEARING_UP = 5  # seconds after the grace for the last answers to be sent


def listen(host: str, port: int) -> socket.socket:
    """A socket on an address of this machine; OSError where it is taken or not ours."""
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    found = socket.socket(family, kind, protocol)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(address)
        found.listen(BACKLOG)
    except OSError:
        found.close()
        raise
    return found


def is_loopback(host: str) -> bool:
    """Whether a name stands for this machine alone."""
    try:
        found = {info[4][0] for info in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)}
    except OSError:
        return False
    return bool(found) and all(ip_address(str(address).partition("%")[0]).is_loopback for address in found)


def address_of(listening: socket.socket, host: str) -> str:
    port = listening.getsockname()[1]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def patient(seconds: float) -> type[H11Protocol]:
    """A protocol that hangs up on whoever takes longer than this to send the head of a request."""

    class Patient(H11Protocol):
        _timer: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._mind_the_head()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self._mind_the_head()

        def connection_lost(self, exc: Exception | None) -> None:
            self._forget()
            super().connection_lost(exc)

        def _mind_the_head(self) -> None:
            if self.conn.their_state is not h11.IDLE:
                self._forget()
            elif self._timer is None:
                self._timer = self.loop.call_later(seconds, self.transport.abort)

        def _forget(self) -> None:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

    return Patient


class Server(uvicorn.Server):
    """Ends well at the first signal, and at once at the second."""

    def __init__(self, config: Config) -> None:
        self.app = create_app(config, failed=self.end)
        self.desk, self.grace = self.app.state.desk, config.grace
        super().__init__(
            uvicorn.Config(
                self.app,
                http=patient(config.body_timeout),
                ws="none",
                lifespan="on",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                timeout_keep_alive=KEEP_ALIVE,
                timeout_graceful_shutdown=round(config.grace) + CLEARING_UP,
            )
        )

    def end(self) -> None:
        self.should_exit = True

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002
        if self.should_exit:
            os._exit(128 + sig)
        self.end()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Admit no more, finish what was admitted, and when the grace is over end that too."""
        self.desk.close()
        if under_way := self.desk.under_way:
            print(_farewell(under_way, self.grace), file=sys.stderr, flush=True)
        timer = asyncio.get_running_loop().call_later(self.grace, self.desk.end_all)
        await super().shutdown(sockets)
        timer.cancel()


def _farewell(requests: int, grace: float) -> str:
    what = "1 request that is" if requests == 1 else f"{requests} requests that are"
    return f"mudy: ending; waiting up to {grace:g} s for {what} under way. Press Ctrl-C again to end at once."


def run(config: Config, listening: socket.socket, host: str) -> None:
    """Serve until a signal comes; raises what kept the model from being loaded."""
    logs.write_to_stderr()
    server = Server(config)
    asyncio.run(_run(server, listening, address_of(listening, host)))
    server.desk.end_all()
    if server.desk.failure is not None:
        raise server.desk.failure
    if not server.desk.stopped():
        sys.stderr.flush()
        os._exit(0)


async def _run(server: Server, listening: socket.socket, address: str) -> None:
    telling = asyncio.create_task(_tell(server, address))
    await server.serve([listening])
    telling.cancel()


async def _tell(server: Server, address: str) -> None:
    while not server.started:
        await asyncio.sleep(0.02)
    print(f"mudy: listening on {address}, loading the model", file=sys.stderr, flush=True)
    while not server.desk.ready:
        await asyncio.sleep(0.02)
    print(f"mudy: ready at {address}", file=sys.stderr, flush=True)
