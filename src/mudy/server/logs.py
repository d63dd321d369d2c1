"""What is written down: one JSON object a line on standard error; never a text, never a key.

The message of an exception may quote a text, so of an exception only its kind and its place in the code are told.
"""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from pathlib import Path
from traceback import extract_tb
from typing import Any

LOGGER = logging.getLogger("mudy.server")


class JsonLines(logging.Formatter):
    """Records as JSON, with what was passed as `extra={"told": {...}}`."""

    def format(self, record: logging.LogRecord) -> str:
        told = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "message": record.getMessage(),
        }
        if record.exc_info and record.exc_info[1] is not None:
            told |= described(record.exc_info[1])
        return json.dumps(told | getattr(record, "told", {}))


def described(error: BaseException) -> dict[str, Any]:
    """An exception without its message."""
    frames = extract_tb(error.__traceback__)[-8:]
    places = [f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in frames]
    return {"error": type(error).__name__, "at": places}


def fault(error: BaseException, *requests: str) -> None:
    """Something of ours went wrong."""
    LOGGER.error("fault", extra={"told": {"request_id": ",".join(requests), **described(error)}})


def write_to_stderr() -> None:
    """Our records, and uvicorn's and asyncio's warnings, as JSON."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    for name, level in (("mudy.server", logging.INFO), ("uvicorn", logging.WARNING), ("asyncio", logging.WARNING)):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level)
