"""One computation at a time, and long ones take turns with others."""

from __future__ import annotations

from collections import deque
from threading import Lock
from time import monotonic

TURN_SECONDS = (1.0, 0.5, 0.25)  # how long a short, medium or long text is computed before another has its turn


class Turns:
    """A lock that is handed on in the order of asking, and that its holder can offer to others in between.

    Models, tagger and tokenisers are used only by its holder. A holder offers it where it has nothing half done with
    any of these: before a pass through a model, between two pieces of a text.
    """

    def __init__(self) -> None:
        self._mutex = Lock()
        self._held = False
        self._began = 0.0
        self._waiting: deque[Lock] = deque()  # one a thread, opened when its turn comes

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
        """Let whoever waits have a turn, if this one has lasted so many seconds; the seconds until it came back."""
        if not self._waiting or monotonic() - self._began < after:
            return 0.0
        start = monotonic()
        self.__exit__()
        self.__enter__()
        return monotonic() - start
