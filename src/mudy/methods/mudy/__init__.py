"""MUDY (Kang and Yoon, SIGIR 2026): every occurrence scored in its own context, at two grains of attention."""

from mudy.methods.mudy.algorithm import RECOMMENDED, Attention, Mudy, attention_score, final_score, weight_of

__all__ = ["RECOMMENDED", "Attention", "Mudy", "attention_score", "final_score", "weight_of"]
