"""The command `mudy`, also as `python -m mudy`: an interrupt ends it with exit code 130 and without a traceback."""

import os
import signal
from types import FrameType

INTERRUPTED = 130


def main() -> None:
    """Run the command line; while it is imported, and after it has ended, an interrupt ends the process at once."""
    heeded = signal.getsignal(signal.SIGINT) is not signal.SIG_IGN  # as of a job in the background
    if heeded:
        signal.signal(signal.SIGINT, _end)
    from mudy.cli.main import interrupt, run_cli

    try:
        if heeded:
            signal.signal(signal.SIGINT, interrupt)
        run_cli()
    except KeyboardInterrupt:
        raise SystemExit(INTERRUPTED) from None
    finally:
        if heeded:
            signal.signal(signal.SIGINT, _end)


def _end(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
    os._exit(INTERRUPTED)


if __name__ == "__main__":
    main()
