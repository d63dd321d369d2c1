"""MUDY (Kang and Yoon, SIGIR 2026): every occurrence scored in its own context, at two grains of attention."""

from mudy.methods.mudy.algorithm import Mudy, attention_score, final_score, weight_of
from mudy.methods.mudy.settings import RECOMMENDED, Attention

__all__ = ["RECOMMENDED", "Attention", "Mudy", "attention_score", "final_score", "weight_of"]
