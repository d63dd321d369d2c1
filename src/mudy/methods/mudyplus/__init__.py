"""MUDY+: evidence of many kinds, added up to the log-odds of being a keyphrase."""

from mudy.methods.mudyplus.cascade import MudyPlus

__all__ = ["MudyPlus"]
