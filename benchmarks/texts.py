"""The texts that are measured on: ten of our own, each with its gold keyphrases; and longer ones made of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from random import Random

from mudy.evaluation.datasets import Dataset, Record
from mudy.reading.document import first_words

FOLDER = Path(__file__).parent / "texts"


@dataclass(frozen=True, slots=True)
class Text:
    """A title, a blank line and prose; and the phrases that a reader would name."""

    name: str
    text: str
    gold: tuple[str, ...]


def read(limit: int | None = None, words: int | None = None) -> list[Text]:
    """The first texts by name, and of each the first words."""
    return [_text(path, words) for path in sorted(FOLDER.glob("*.txt"))[:limit]]


def _text(path: Path, words: int | None) -> Text:
    text, _ = first_words(path.read_text(encoding="utf-8"), words)
    gold = path.with_suffix(".key").read_text(encoding="utf-8").splitlines()
    return Text(path.stem, text, tuple(filter(None, map(str.strip, gold))))


def dataset(texts: list[Text]) -> Dataset:
    """The texts as a data set, for our measures."""
    return Dataset("texts", "mudy", tuple(Record(t.name, None, t.text, t.gold) for t in texts))


def of_length(words: int, seed: int = 0) -> str:
    """The texts one after the other, again and again in another order, cut to a number of words."""
    random, known, joined, count = Random(seed), [text.text for text in read()], "", 0
    while count < words:
        random.shuffle(known)
        joined += "".join(f"{text.strip()}\n\n" for text in known)
        count = len(joined.split())
    return first_words(joined, words)[0]


def pieces(words: int, count: int) -> list[str]:
    """Stretches of so many words, one from the beginning of each text, then the next ones."""
    split = [text.text.split() for text in read()]
    found = [own[at : at + words] for at in range(0, max(map(len, split)), words) for own in split]
    return [" ".join(piece) for piece in found if len(piece) == words][:count]


def mixed(count: int, seed: int = 0) -> list[str]:
    """Beginnings of the texts, of 100 to 700 words."""
    random, known = Random(seed), [text.text for text in read()]
    return [first_words(known[i % len(known)], random.randint(100, 700))[0] for i in range(count)]
