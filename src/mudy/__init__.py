"""Keyphrases of any text, found by a pre-trained language model without training data."""
