"""The process of the service: its socket, its signals, and its shutdown."""

import asyncio
import os
import socket
import sys
from ipaddress import ip_address
from types import FrameType

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from mudy.extraction.results import number_of
from mudy.server.app import create_app
from mudy.server.config import Config
from mudy.server.telemetry import log_to_stderr

KEEP_ALIVE = 65  # seconds; longer than clients keep idle connections, so that no request meets a closed one
CLOSING_SECONDS = 5  # after the grace period, for the last answers to be sent


def listen(host: str, port: int) -> socket.socket:
    """A listening socket; OSError if the address is in use or not of this machine."""
    family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    both = family == socket.AF_INET6 and socket.has_dualstack_ipv6()  # :: is every address, also of IPv4
    return socket.create_server(address, family=family, backlog=2048, dualstack_ipv6=both)


def is_loopback(host: str) -> bool:
    """Whether a host name resolves to loopback addresses only."""
    try:
        addresses = {info[4][0] for info in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)}
    except OSError:
        return False
    return bool(addresses) and all(ip_address(str(a).partition("%")[0]).is_loopback for a in addresses)


def protocol_with_head_timeout(seconds: float) -> type[H11Protocol]:
    """A protocol that closes connections on which the head of a request takes longer than this."""

    class HeadTimeoutProtocol(H11Protocol):
        _timer: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._watch_head()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self._watch_head()

        def connection_lost(self, exc: Exception | None) -> None:
            self._watch_head(closed=True)
            super().connection_lost(exc)

        def _watch_head(self, closed: bool = False) -> None:
            waits = self.conn.their_state is h11.IDLE and not closed
            if self._timer is not None and not waits:
                self._timer.cancel()
                self._timer = None
            elif self._timer is None and waits:
                self._timer = self.loop.call_later(seconds, self.transport.abort)

    return HeadTimeoutProtocol


class Server(uvicorn.Server):
    """Shuts down gracefully at the first signal, and at once at the second."""

    def __init__(self, config: Config, address: str) -> None:
        self.app = create_app(config, self.loaded)
        self.queue, self.grace, self.address = self.app.state.queue, config.grace, address
        super().__init__(
            uvicorn.Config(
                self.app,
                http=protocol_with_head_timeout(config.body_timeout),
                ws="none",
                lifespan="on",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                timeout_keep_alive=KEEP_ALIVE,
                timeout_graceful_shutdown=round(config.grace) + CLOSING_SECONDS,
            )
        )

    def loaded(self, failure: BaseException | None) -> None:
        if failure is None:
            print(f"mudy: ready at {self.address}", file=sys.stderr, flush=True)
        else:
            self.should_exit = True

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002
        if self.should_exit:
            os._exit(128 + sig)
        self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Refuse new requests, finish those admitted, and cancel what is left after the grace period."""
        self.queue.close()
        if under_way := self.queue.under_way:
            waiting = f"waiting up to {self.grace:g} s for {number_of(under_way, 'request')}"
            print(f"mudy: shutting down; {waiting}. Press Ctrl-C again to stop at once.", file=sys.stderr, flush=True)
        timer = asyncio.get_running_loop().call_later(self.grace, self.queue.stop)
        await super().shutdown(sockets)
        timer.cancel()


def run_service(config: Config, listening: socket.socket, host: str) -> None:
    """Serve until a signal comes; raises the error if the model cannot be loaded."""
    log_to_stderr()
    address = f"http://{f'[{host}]' if ':' in host else host}:{listening.getsockname()[1]}"
    server = Server(config, address)
    print(f"mudy: listening on {address}, loading the model", file=sys.stderr, flush=True)
    asyncio.run(server.serve([listening]))
    server.queue.stop()
    if server.queue.failure is not None:
        raise server.queue.failure
    if not server.queue.join():
        sys.stderr.flush()
        os._exit(0)
