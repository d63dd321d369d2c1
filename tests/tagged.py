"""Documents whose words and tags are written by hand, so that no tagger decides a test."""

from mudy.reading.document import Document, Span, Word


def tagged(text: str, language: str = "en") -> Document:
    """Words as form/TAG between spaces, a noun where no tag is given; a full stop ends a sentence."""
    forms: list[str] = []
    words: list[Word] = []
    sentences: list[Span] = []
    position = start = 0
    for token in text.split():
        form, _, tag = token.rpartition("/") if "/" in token else (token, "", "NN")
        tag = "." if form in (".", ",") else tag
        span = Span(position, position + len(form))
        words.append(Word(span, tag, len(sentences)))
        forms.append(form)
        position = span.end + 1
        if form == ".":
            sentences.append(Span(start, span.end))
            start = position
    if start < position:
        sentences.append(Span(start, position - 1))
    return Document(" ".join(forms), tuple(sentences), tuple(words), language)
