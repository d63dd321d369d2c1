"""MUDY inside other tools: one module for each, imported only by who uses it.

Every module takes the same plain settings, see `extraction`. A tool that is not installed is named with its command.
"""

from mudy._support.extras import from_extra

__all__ = ["from_extra"]
