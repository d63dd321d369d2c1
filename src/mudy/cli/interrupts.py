"""Ctrl-C, remembered: a library may turn the interrupt of its import into an error of its own."""

from types import FrameType

received = False


def interrupt(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
    """Handle SIGINT as Python does, and remember it."""
    global received
    received = True
    raise KeyboardInterrupt
