"""File or string -> Document."""
