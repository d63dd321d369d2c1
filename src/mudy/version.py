"""The version, for every room: importing it imports nothing else of the package."""

__version__ = "0.1.0"
