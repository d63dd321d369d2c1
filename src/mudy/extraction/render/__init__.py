"""Explanations in a terminal, as an HTML page and in a notebook. Nothing here scores."""
