"""Replace control characters, which act on a terminal, with characters that only show."""

JOINERS = "\u200c\u200d"  # hold letters and emoji together or apart
REPLACED = "\ufffd"


def sanitized(text: str) -> str:
    """The text, character for character, with nothing that moves a cursor, changes colours or reverses the direction.

    Line feeds and tabs stay; other white space becomes a space, and so does a carriage return before a line feed.
    """
    return "".join(map(_plain, text, text[1:] + " "))


def _plain(character: str, following: str) -> str:
    if character.isprintable() or character in "\n\t" or character in JOINERS:
        return character
    if character == "\r":
        return " " if following == "\n" else "\n"
    return " " if character.isspace() and character >= " " else REPLACED
