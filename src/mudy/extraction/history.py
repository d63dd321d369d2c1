"""Tags from history: the nearest tagged texts vote for their tags, also for those that a text does not name.

Evidence for a tag, in log-odds: the share of the nearest texts that have it, weighted by cosine; the cosine of the
tag itself and the text; and in how many texts it is used. It is added to the log-odds of phrases that are such tags,
and is all there is for tags that do not occur in the text.
"""

import re
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from itertools import compress
from math import exp
from pathlib import Path
from threading import RLock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mudy._support.callbacks import cancellable
from mudy._support.storage import atomic_write, real_path
from mudy.errors import InputError, SettingError
from mudy.extraction.concepts import TagVote
from mudy.extraction.examples import json_rows
from mudy.extraction.examples.exports import table_rows
from mudy.extraction.examples.front_matter import read_note, visible_notes
from mudy.extraction.model_loader import ModelLoader
from mudy.extraction.options import Options
from mudy.reading.candidates.vocabularies import Concept, Vocabulary
from mudy.reading.document import Document, Span
from mudy.reading.languages import LANGUAGE_NAMES, detection_of

INDEX = ".mudy-history.npz"
NEIGHBOURS = 20  # texts that vote
POWER = 2.0  # of the cosine that a vote counts
SILENT = 1.0  # weight of votes for no tag, so that few or distant texts decide little
# `python -m experiments.history DATA --cache FOLDER --fit`
WEIGHTS = (10.7, 9.6, 0.9)  # of share, similarity and log count
NAMED, ABSENT = -2.8, -8.6  # log-odds added where a tag occurs in the text, and of one that does not


@dataclass(frozen=True)
class TaggedText:
    """A text, and the tags that somebody gave it."""

    text: str
    tags: tuple[str, ...]
    path: Path | None = None  # of the note, through all links

    @cached_property
    def words(self) -> str:
        """A hash of the words, by which the text is recognized whatever stands between them."""
        words = " ".join(re.findall(r"\w+", self.text.casefold())) or self.text
        return sha256(words.encode(errors="surrogatepass")).hexdigest()


class History:
    """Tagged texts, and their vectors once they are needed."""

    def __init__(self, path: str, loader: ModelLoader) -> None:
        self.path, self._loader = Path(path).expanduser(), loader
        texts, problems = tagged_texts(self.path)
        joined: dict[str, TaggedText] = {}  # each text once, with the tags of all its copies
        for text in texts:
            first = joined.setdefault(text.words, text)
            if first is not text:
                joined[text.words] = replace(first, tags=plain_tags((*first.tags, *text.tags)))
        self.texts = list(joined.values())
        self.notes = tuple(problems) if self.texts else (*problems, f"{path}: no text has tags, so none are suggested.")
        self.tags = plain_tags(tag for text in self.texts for tag in text.tags)
        self._shelves: dict[str, _Shelf] = {}
        self._merged: tuple[Vocabulary | None, Vocabulary] | None = None  # a vocabulary, and the same with the tags
        self._concepts: tuple[Vocabulary, str, list[Concept | None]] | None = None  # of the tags, in a language
        self._lock = RLock()

    @cached_property
    def fingerprint(self) -> str:
        """A hash of all texts and tags, by which a resumed run recognizes its history."""
        return sha256(repr([(text.text, text.tags) for text in self.texts]).encode(errors="replace")).hexdigest()[:16]

    def applied(self, options: Options) -> Options:
        """The options with the tags as concepts that are found in the text; not where the phrases are chosen."""
        if not self.tags or options.phrases is not None or options.only_concepts:
            return options
        return options.changed({"vocabulary": self._with_tags(options.concepts), "boost": options.boost or 0.0})

    def _with_tags(self, vocabulary: Vocabulary | None) -> Vocabulary:
        """A vocabulary with the tags as further concepts; kept for the next text."""
        merged = self._merged
        if merged is None or merged[0] is not vocabulary:
            concepts = () if vocabulary is None else vocabulary.concepts
            labels = {_spoken(label) for concept in concepts for label in concept.labels}
            others = (_concept(tag) for tag in self.tags if _spoken(tag) not in labels)
            merged = self._merged = vocabulary, Vocabulary.of((*concepts, *others))
        return merged[1]

    def _concepts_of_tags(self, vocabulary: Vocabulary, language: str) -> list[Concept | None]:
        """The concept of each tag: the one that its words are given in a text, else its own; None if there is none."""
        kept = self._concepts
        if kept is None or kept[0] is not vocabulary or kept[1] != language:
            index, by_id = vocabulary.index_of(language), {concept.id: concept for concept in vocabulary.concepts}
            places = [next(iter(index.places(tag)), None) for tag in self.tags]
            concepts = [
                vocabulary.concepts[place.concept] if place and place.span == Span(0, len(tag)) else by_id.get(tag)
                for tag, place in zip(self.tags, places, strict=True)
            ]
            kept = self._concepts = vocabulary, language, concepts
        return kept[2]

    def votes(self, document: Document, options: Options) -> dict[str, TagVote]:
        """The vote for each concept that is a tag, by its id. A text does not vote for itself."""
        vocabulary = options.concepts
        if not self.tags or vocabulary is None or not document.text.strip():
            return {}
        numbers, features = self.features(document.text, document.language, options.source)
        evidence = (features @ WEIGHTS).round(4).tolist()
        concepts = self._concepts_of_tags(vocabulary, document.language)
        votes: dict[str, TagVote] = {}
        for number, value in sorted(zip(numbers, evidence, strict=True), key=lambda pair: -pair[1]):
            if (concept := concepts[number]) is not None:
                votes.setdefault(concept.id, TagVote(concept, NAMED + value, 1 / (1 + exp(-ABSENT - value))))
        return votes

    def features(self, text: str, language: str, source: str | None = None) -> tuple[list[int], Any]:
        """The tags that other texts have, as indices, and the three numbers about each; (tags, 3)."""
        shelf, words = self._shelf(language), TaggedText(text, ()).words
        place = None
        with suppress(OSError, ValueError):  # a source need not be a path
            place = None if source is None else real_path(source)
        same = [one.words == words or (place is not None and place == one.path) for one in shelf.texts]
        return shelf.features(text, same)

    def load(self) -> None:
        """Encode the texts now, as far as the index does not have them, and keep it."""
        for language in set(self._languages):
            self._shelf(language)

    @cached_property
    def _languages(self) -> list[str]:
        code = str(self._loader.setup.language).partition("_")[0]  # of a language, or of a spaCy package
        fixed = code if code in LANGUAGE_NAMES else None
        return [fixed or detection_of(text.text).likely for text in self.texts]

    def _shelf(self, language: str) -> "_Shelf":
        """The texts that are compared with one in this language: those that the same encoder reads."""
        encoder = self._loader.encoder_for(language)
        with self._lock:
            if encoder.name not in self._shelves:
                read = [self._loader.encoder_for(own) is encoder for own in self._languages]
                self._shelves[encoder.name] = _Shelf(
                    list(compress(self.texts, read)), self.tags, encoder, self._index, self._loader
                )
                with suppress(OSError):  # a folder that may not be written: encoded again next time
                    self._index.save()
            return self._shelves[encoder.name]

    @cached_property
    def _index(self) -> "VectorIndex":
        folder = self.path.is_dir()
        return VectorIndex(real_path(self.path) / INDEX if folder else self.path.with_name(f".{self.path.name}{INDEX}"))


class _Shelf:
    """The texts and tags that one encoder has read."""

    def __init__(
        self, texts: Sequence[TaggedText], tags: Sequence[str], encoder: Any, index: "VectorIndex", loader: ModelLoader
    ) -> None:
        report = loader.report or (lambda *_: None)
        identity = loader.encoder_identity(encoder.name)
        self.texts, self._encoder = texts, encoder
        step = f"Encoding {len(texts):,} tagged texts"
        contents = [text.text for text in texts]
        self._vectors = index.vectors(identity, contents, encoder.embed, lambda done: report(step, done, len(texts)))
        self._tags = index.vectors(identity, [_spoken(tag) for tag in tags], encoder.embed, lambda _: None)
        numbers = {tag.casefold(): number for number, tag in enumerate(tags)}
        pairs = [(number, numbers[tag.casefold()]) for number, text in enumerate(texts) for tag in text.tags]
        self._row_of, self._tag_of = np.array(pairs, dtype=int).reshape(-1, 2).T  # of each use of a tag

    def features(self, text: str, left_out: Sequence[bool]) -> tuple[list[int], Any]:
        vector = np.asarray(self._encoder.embed([text]))[0].astype(np.float16).astype(np.float32)
        cosines = np.zeros(len(self.texts))
        if self.texts:
            cosines = np.where(left_out, -1.0, (self._vectors.astype(np.float32) @ vector).round(4)).astype(float)
        weights = np.zeros(len(cosines))
        nearest = [number for number in np.argsort(-cosines, kind="stable")[:NEIGHBOURS] if cosines[number] > 0]
        weights[nearest] = cosines[nearest] ** POWER
        weights /= weights.sum() + SILENT
        uses = ~np.asarray(left_out, dtype=bool)[self._row_of]
        rows, tags = self._row_of[uses], self._tag_of[uses]
        count = np.bincount(tags, minlength=len(self._tags))
        share = np.bincount(tags, weights[rows], minlength=len(self._tags))
        known = np.flatnonzero(count)
        similarity = (self._tags[known].astype(np.float32) @ vector).round(4)
        return known.tolist(), np.stack([share[known], similarity, np.log(count[known])], axis=1)


def _concept(tag: str) -> Concept:
    """A tag as a concept; of a nested one, such as area/flood, the last part stands for it too."""
    last = tag.rpartition("/")[2].strip()
    return Concept(tag, tag, (last,) if last and last != tag else ())


def _spoken(tag: str) -> str:
    """A tag as an encoder reads it best: in words."""
    return " ".join(re.sub("[-_/]", " ", tag).split()).lower() or tag


# -- Tagged texts: a folder of Markdown notes, or a file of rows; what cannot be read is named and left out --------

_ROW_ENDINGS = (".jsonl", ".csv", ".tsv")
KEYS = ("tags", "keywords", "keyphrases")  # fields that hold tags; the first one that is there counts


def tagged_texts(path: Path) -> tuple[list[TaggedText], list[str]]:
    """The texts of a folder or file that have tags, and for each that cannot be read a sentence that names it."""
    entries = _notes(path) if path.is_dir() else _rows(path)
    texts: list[TaggedText] = []
    problems: list[str] = []
    for entry in entries:
        if isinstance(entry, str):
            problems.append(entry)
        elif entry.tags and entry.text.strip():
            texts.append(entry)
    return texts, problems


def check_history(path: Path) -> None:
    """SettingError for what is neither a folder nor a file of rows."""
    if path.is_dir() or (path.is_file() and path.suffix.lower() in _ROW_ENDINGS):
        return
    wrong = "is not such a file" if path.exists() else "does not exist"
    needed = f"a folder of notes or a file ({', '.join(_ROW_ENDINGS)})"
    raise SettingError(f"history is {path}, which {wrong}; {needed} is needed.")


def _notes(folder: Path) -> Iterator[TaggedText | str]:
    for path in visible_notes(folder):
        try:
            file = read_note(path, KEYS[0], folder)
            tags = next((tags for key in KEYS if (tags := file.note.tags(key))), [])
        except InputError as error:
            yield f"{path}: {error}"
        else:
            yield TaggedText(file.note.text, plain_tags(tags), file.place)


def plain_tags(tags: Iterable[str]) -> tuple[str, ...]:
    """Tags without white space around them and the # that some tools write, each in its first spelling."""
    spellings: dict[str, str] = {}
    for tag in tags:
        plain = " ".join(tag.split()).lstrip("#")
        spellings.setdefault(plain.casefold(), plain)
    return tuple(filter(None, spellings.values()))


def _rows(path: Path) -> Iterator[TaggedText | str]:
    """The rows of a file with a column or field `text`, and `tags` as a list or separated by ; | or commas."""
    rows: Iterator[tuple[int, dict[str, Any] | str]]
    rows = json_rows(path) if path.suffix.lower() == ".jsonl" else table_rows(path)
    try:
        for line, row in rows:
            key = next((key for key in KEYS if key in row), None)
            if isinstance(row, dict) and key is not None and isinstance(row.get("text"), str):
                tags = row[key] if isinstance(row[key], str | list) else []
                if isinstance(tags, str):
                    tags = tags.split(next((mark for mark in ";|" if mark in tags), ","))
                yield TaggedText(row["text"], plain_tags(tag for tag in tags if isinstance(tag, str)))
            else:
                yield f"{path}:{line}: {row if isinstance(row, str) else 'has no `text` and `tags`'}."
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error}).") from None


# -- The vectors, in a file beside the notes --------------------------------------------------------------------------

# Vectors are stored by the content of a text: what did not change is not encoded again. The file holds nothing but
# hashes and vectors, so tags always come from the notes, and a folder may be moved. A file that is damaged, a link, or
# of another encoder, precision or version is not used: its vectors are computed again.

VERSION = 1  # of how texts become vectors; raised when that changes
_BLOCK = 32  # texts encoded at once
_UNREADABLE = (OSError, ValueError, KeyError, EOFError, MemoryError, zipfile.BadZipFile)

Vectors = NDArray[np.float16]
Embed = Callable[[Sequence[str]], Any]


class VectorIndex:
    """The vectors of one history, by encoder and text."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._used: dict[str, dict[str, Vectors]] = {}  # encoder -> hash of a text -> its vector
        self.changed = False

    def vectors(self, encoder: str, texts: Sequence[str], embed: Embed, report: Callable[[int], None]) -> Vectors:
        """The vectors of some texts, those encoded now that the file does not have; (texts, width)."""
        used = self._used.setdefault(identity := f"{VERSION}-{encoder}", {})
        stored = _read(self.path, identity)
        hashes = [sha256(text.encode(errors="surrogatepass")).hexdigest() for text in texts]
        used |= {name: stored[name] for name in hashes if name in stored}
        missing = {name: text for name, text in zip(hashes, texts, strict=True) if name not in used}
        names = list(missing)
        for start in cancellable(range(0, len(names), _BLOCK)):
            block = names[start : start + _BLOCK]
            rows = np.asarray(embed([missing[name] for name in block])).astype(np.float16)
            used |= dict(zip(block, rows, strict=True))
            report(start + len(block))
        self.changed |= bool(names)
        return np.stack([used[name] for name in hashes]) if hashes else np.zeros((0, 1), np.float16)

    def save(self) -> None:
        """Write the vectors in use, if they differ from the file; OSError where that is not possible."""
        if not self.changed:
            return
        arrays = _stored(self.path)  # those of other encoders stay
        for encoder, vectors in self._used.items():
            arrays[f"hashes-{encoder}"] = np.array([bytes.fromhex(name) for name in vectors], dtype="V32")
            arrays[f"vectors-{encoder}"] = np.stack(list(vectors.values()))
        with atomic_write(self.path) as unfinished, unfinished.open("wb") as stream:
            np.savez(stream, allow_pickle=False, **arrays)
        self.changed = False


def _stored(path: Path) -> dict[str, NDArray[Any]]:
    """The arrays of a file; nothing where it is damaged, or is no file of ours."""
    with suppress(*_UNREADABLE):
        if path.is_file() and not path.is_symlink():
            with path.open("rb") as stream, np.load(stream, allow_pickle=False) as stored:
                return dict(stored)
    return {}


def _read(path: Path, encoder: str) -> dict[str, Vectors]:
    """What the file has of an encoder; nothing that is not made of its vectors."""
    stored = _stored(path)
    hashes, vectors = stored.get(f"hashes-{encoder}"), stored.get(f"vectors-{encoder}")
    if hashes is None or vectors is None or hashes.dtype != "V32" or hashes.shape != vectors.shape[:1]:
        return {}
    if vectors.ndim != 2 or vectors.dtype != np.float16:
        return {}
    lengths = np.linalg.norm(vectors.astype(np.float32), axis=1)
    if not (abs(lengths - 1) < 0.01).all():  # as an encoder gives them
        return {}
    return {bytes(name).hex(): vector for name, vector in zip(hashes, vectors, strict=True)}
