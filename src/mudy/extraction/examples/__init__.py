"""Texts with the tags that somebody gave them."""
