"""What every room may use, and the version of the installed package, which comes from git's tags (hatch-vcs)."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("mudy")
except PackageNotFoundError:
    __version__ = "0+unknown"
