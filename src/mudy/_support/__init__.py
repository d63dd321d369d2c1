"""What every room may use, and the version.

The version is that of the installed package, which git's tags gave it (hatch-vcs); files that were never installed have
none.
"""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("mudy")
except PackageNotFoundError:
    __version__ = "0+unknown"
