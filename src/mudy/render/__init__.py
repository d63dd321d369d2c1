"""What methods found in a text, made visible: in a terminal, a page, a notebook, a PNG. Nothing here scores."""
