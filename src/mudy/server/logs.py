"""Logs: one JSON object per line on standard error, without texts or keys.

The message of an exception may quote a text, so only the type of an exception and its place in the code are logged.
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


class JsonFormatter(logging.Formatter):
    """Records as JSON, with the fields passed as `extra={"fields": {...}}`."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "message": record.getMessage(),
        }
        if record.exc_info and record.exc_info[1] is not None:
            line |= _describe_error(record.exc_info[1])
        return json.dumps(line | getattr(record, "fields", {}))


def _describe_error(error: BaseException) -> dict[str, Any]:
    """An exception without its message."""
    frames = extract_tb(error.__traceback__)[-8:]
    places = [f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in frames]
    return {"error": type(error).__name__, "at": places}


def log_fault(error: BaseException, *request_ids: str) -> None:
    """Log an unexpected exception."""
    LOGGER.error("fault", extra={"fields": {"request_id": ",".join(request_ids), **_describe_error(error)}})


def write_to_stderr() -> None:
    """Send our records, and the warnings of uvicorn, asyncio and the MCP tools, to standard error as JSON."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    for name in ("mudy.server", "uvicorn", "asyncio", "mcp"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(logging.INFO if name == "mudy.server" else logging.WARNING)
