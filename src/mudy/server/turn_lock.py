"""One computation at a time; long ones take turns with others."""

from __future__ import annotations

from collections import deque
from threading import Lock
from time import monotonic

TURN_SECONDS = (1.0, 0.5, 0.25)  # how long a short, medium or long text is computed before another has its turn


class TurnLock:
    """A first-come, first-served lock that its holder can offer to others in between.

    Models, tagger and tokenisers are used only by the holder. It offers the lock only where it has nothing half done
    with any of them: before a pass through a model, or between two chunks of a text.
    """

    def __init__(self) -> None:
        self._mutex = Lock()
        self._held = False
        self._began = 0.0
        self._waiting: deque[Lock] = deque()  # one per thread, released when its turn comes

    def __enter__(self) -> None:
        with self._mutex:
            gate = Lock() if self._held else None
            if gate is not None:
                gate.acquire()
                self._waiting.append(gate)
            self._held = True
        if gate is not None:
            gate.acquire()
        self._began = monotonic()

    def __exit__(self, *_: object) -> None:
        with self._mutex:
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._held = False

    def offer(self, after: float) -> float:
        """Let a waiting thread have its turn if this one has lasted `after` seconds; returns the seconds it took."""
        if not self._waiting or monotonic() - self._began < after:
            return 0.0
        start = monotonic()
        self.__exit__()
        self.__enter__()
        return monotonic() - start
