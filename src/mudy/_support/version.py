"""The version, for every room: importing it imports nothing else of the package.

It is that of the installed package, which git's tags gave it (hatch-vcs). Files that were never installed have none.
"""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("mudy")
except PackageNotFoundError:
    __version__ = "0+unknown"
