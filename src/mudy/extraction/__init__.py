"""Candidates with scores -> keyphrases: one text or many."""
