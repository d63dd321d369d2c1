"""What the head of a PNG says."""

import struct


def size(png: bytes) -> tuple[int, int]:
    """Width and height, from the head of a PNG."""
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    assert png.endswith(b"IEND\xaeB`\x82")
    width, height = struct.unpack(">II", png[16:24])
    return width, height
