"""MUDY (Kang and Yoon, SIGIR 2026): every occurrence scored in its own context, at two grains of attention."""

from mudy.methods.mudy.algorithm import Mudy
from mudy.methods.mudy.final_score import attention_score, final_score, weight_of
from mudy.methods.mudy.presets import RECOMMENDED
from mudy.methods.mudy.settings import Attention

__all__ = ["RECOMMENDED", "Attention", "Mudy", "attention_score", "final_score", "weight_of"]
