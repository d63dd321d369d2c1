"""How good the keyphrases are."""
