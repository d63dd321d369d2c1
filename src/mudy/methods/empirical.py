"""Empirical (Kang and Shin, COLING 2025): a chat model is told to name the keyphrases, and they rank as it wrote them.

The published runs asked Llama 3 8B; the comparison with GPT-5 in MUDY's paper works alike. The wording is ours.
"""

import json
import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from mudy.engines import Chat
from mudy.errors import SettingError
from mudy.methods.method import GenerativeMethod, ScoredCandidates, same_at_each, setting
from mudy.reading.candidates import Candidate, given
from mudy.reading.document import Document, Span, first_words, squeeze

Prompting = Literal["candidate", "vanilla", "hybrid"]
HYBRID_TOP = 5  # candidates that hybrid prompting adds to the model's own phrases

MARKER = "Keyphrases: "
ROLE = "You work as a keyphrase extractor: you read a text and name the phrases that say best what it is about."
OWN = "Name the {top} most important keyphrases of the text, each worded exactly as in the text."
LISTED = (
    "A list of keyphrase candidates follows the text. Choose the {top} most important keyphrases from this list, "
    "each worded exactly as in the list."
)
_FORM = f'Answer with one line: "{MARKER}" and then the phrases, the most important first, separated by semicolons.'


@dataclass(frozen=True)
class Empirical(GenerativeMethod):
    """Keyphrases that a chat model writes: chosen from the candidates, from the text itself, or both in three calls.

    Hybrid prompting asks for phrases of the text, then for 5 of the candidates, then for a choice from both; we list
    only what occurs in the text. A phrase other than the candidates is kept if it occurs in the text, unless `strict`.
    Its score is 1 / rank.

    If a prompt is longer than the model's room less `max_new_tokens`, the list of candidates loses what exceeds half of
    the room, and the text its last words, which `Coverage` counts. An endpoint's room is not known: nothing is cut.
    We name `top` in every prompt, as for GPT-5; the published prompt for phrases of the text sets no number.
    """

    title = "Empirical"
    citation = "Kang and Shin, COLING 2025"
    needs = ("chat",)

    chat: Chat
    prompting: Prompting = setting(
        "candidate", "Choose from the candidates (candidate), from the text (vanilla), or both in three calls (hybrid)."
    )
    top: int = setting(15, "Phrases asked for; as many come back as are written.", least=1)
    max_new_tokens: int = setting(128, "Most tokens that the model may write in one answer.", least=1)
    strict: bool = setting(False, "Drop phrases that are not among the candidates.")
    role: bool = setting(True, "Open the system message with a role.")

    def choose(self, document: Document, candidates: Sequence[Candidate]) -> ScoredCandidates:
        written, unread = self._written(document, candidates)
        chosen, dropped = standing(document, candidates, written, self.strict)
        scores = same_at_each(chosen, [1 / rank for rank in range(1, len(chosen) + 1)])
        read, _ = first_words(document.text, len(document.text.split()) - unread)
        spans = {"language_model": [Span(0, len(read))]}
        return ScoredCandidates(tuple(chosen), tuple(scores), tuple(dropped), unread, spans)

    def _written(self, document: Document, candidates: Sequence[Candidate]) -> tuple[list[str], int]:
        """The phrases of the last answer, and how many words of the text no prompt had room for."""
        listed = [candidate.phrase for candidate in candidates]
        if self.prompting == "candidate":
            return self._ask(document.text, listed, self.top)
        own, unread = self._ask(document.text, (), self.top)
        if self.prompting == "vanilla":
            return own, unread
        some, more = self._ask(document.text, listed, HYBRID_TOP)
        both, absent = standing(document, candidates, list(dict.fromkeys([*own, *some])), self.strict)
        shown = list(dict.fromkeys(candidate.phrase for candidate in both))
        last, most = self._ask(document.text, shown, self.top) if shown else ([], more)
        return list(dict.fromkeys([*last, *absent])), min(unread, more, most)  # what is absent will be told as dropped

    def _ask(self, text: str, listed: Sequence[str], top: int) -> tuple[list[str], int]:
        task = (LISTED if listed else OWN).format(top=top)
        system = " ".join([ROLE, task, _FORM] if self.role else [task, _FORM])
        user, unread = self._fitted(system, text, listed)
        return parse_phrases(self.chat.write(system, user, self.max_new_tokens)), unread

    def _fitted(self, system: str, text: str, listed: Sequence[str]) -> tuple[str, int]:
        """The user's turn, cut to the model's room, and the number of words cut off."""
        if self.chat.room is None:
            return turn(text, listed), 0
        room, ends = self.chat.room - self.max_new_tokens, [0, *(word.end() for word in re.finditer(r"\S+", text))]

        def length(words: int, candidates: int) -> int:
            return self.chat.length(system, turn(text[: ends[words]], listed[:candidates]))

        words, kept = len(ends) - 1, len(listed)
        if length(words, kept) <= room:
            return turn(text, listed), 0
        if (bare := length(0, 0)) >= room:
            raise SettingError(
                f"max_new_tokens is {self.max_new_tokens:,}, but {self.chat.name} has room for {self.chat.room:,} "
                f"tokens, of which the prompt takes {bare:,} before any text. Lower it, or use another model."
            )
        kept = most(kept, lambda n: length(0, n), bare + (room - bare) // 2)
        read = most(min(words, room), lambda n: length(n, kept), room)  # a word takes a token or more
        return turn(text[: ends[read]], listed[:kept]), words - read


def turn(text: str, listed: Sequence[str]) -> str:
    """What the user says: the text, and the candidates where there are any."""
    return f"Text: {text.strip()}" + (f"\n\nKeyphrase candidates: {' ; '.join(listed)}" if listed else "")


def most(limit: int, length: Callable[[int], int], room: int) -> int:
    """How many of a series fit into a room: at most `limit`, and none where even one is too long."""
    return max(0, bisect_right(range(limit + 1), room, key=length) - 1)


# Models are asked for `Keyphrases: a; b; c` and write numbered lists, JSON, bold type, apologies and afterthoughts. Not
# all that is no phrase is recognised as such here: it does not occur in the text, and is dropped for that.

_MARKER = re.compile(r"key[\s-]?(?:phrases|words|phrase candidates)[\s\"'*_]{0,6}:[*_]*", re.IGNORECASE)
_FENCE = re.compile(r"^[ \t]*```.*$", re.MULTILINE)
_REFUSAL = re.compile(
    r"\W*(?:(?:i am|i['’]?m|we are|we['’]re)\s+(?:\w+\s+)?(?:sorry|unable|not able)\b|sorry\s*[,.!]|unfortunately\b|"
    r"(?:i|we)\s+(?:can['’]?t|can\s?not|could not|couldn['’]t|won['’]t|apologi[sz]e)\b|as an ai\b|(?:none|n/a)\W*$)",
    re.IGNORECASE,
)
_SEMICOLONS, _COMMAS = (re.compile(rf"(?:[{marks}]\s*(?:and\s+)?|\n)") for marks in (";；", ",，、"))
_BULLET = re.compile(r"\s*(?:\(?\d{1,3}[.):]|[-*•‣◦·–—])\s+")
_LABEL = re.compile(r"^\s*(?:key[\s-]?)?(?:phrase|word)\s?\d{0,3}\s?:\s*", re.IGNORECASE)
_BOLD = re.compile(r"\s*(\*\*|__)(.+?)\1")
_REMARK = re.compile(r"\s[-–—]\s|:\s")  # between a phrase in a list and what is said about it
_BRACKETS = re.compile(r"\s*\([^()]*\)\W*$")  # an abbreviation or a remark after a phrase
_LONGEST = 300  # characters; what is longer is prose, and not worth the search for its phrase
_EDGES = " \t\r\n\"'`´‘’‚“”„«»*_[]{}"

# Marks that a model may write in another form than the text; one for one, so that offsets hold.
_FORMS = str.maketrans(dict.fromkeys("‘’ʼ", "'") | dict.fromkeys("“”„", '"') | dict.fromkeys("‐‑‒–—−", "-"))


def parse_phrases(answer: str) -> list[str]:
    """The phrases of an answer in the order of writing, each once whatever its case; a refusal has none.

    They follow the last marker, where there is one. A JSON list of strings is read as such; else semicolons part them,
    else lines where one is numbered or has a bullet, else commas and lines.
    """
    text = _FENCE.sub("", answer.rpartition("</think>")[2])  # of models that think aloud
    answers = [part for part in _MARKER.split(text) if part.strip()]
    if not answers or _REFUSAL.match(answers[-1]):
        return []
    phrases: dict[str, str] = {}
    for piece in _parted(answers[-1]):
        phrase = _cleaned(piece)
        if any(map(str.isalnum, phrase)) and not phrase.endswith(":"):  # which ends a heading
            phrases.setdefault(comparison_key(phrase), phrase)
    return list(phrases.values())


def _parted(text: str) -> Sequence[str]:
    if listed := _strings(text[text.find("[") : text.rfind("]") + 1]):
        return listed
    if ";" in text or "；" in text:
        return _SEMICOLONS.split(text)
    lines = text.splitlines()
    return lines if any(map(_BULLET.match, lines)) else _COMMAS.split(text)


def _strings(text: str) -> list[str]:
    """The strings of a JSON list; none where it is no list."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return []
    return [item for item in found if isinstance(item, str)] if isinstance(found, list) else []


def _cleaned(piece: str) -> str:
    """A phrase without its number or bullet, quotes, mark-up, trailing dots, and what is said about it."""
    if len(piece) > _LONGEST:
        return squeeze(piece)
    bullet = _BULLET.match(piece)
    piece = _LABEL.sub("", piece[bullet.end() :] if bullet else piece, count=1)
    bold = _BOLD.match(piece)
    if bold:
        piece = bold[2]
    elif bullet:
        piece = _REMARK.split(piece, maxsplit=1)[0]
    return squeeze(_BRACKETS.sub("", piece.strip(_EDGES)).rstrip(" .…,").strip(_EDGES))


def comparison_key(phrase: str) -> str:
    """What two spellings of one phrase have in common: neither case, white space, forms of marks nor trailing dots."""
    return squeeze(phrase.translate(_FORMS)).casefold().rstrip(" .")


def standing(
    document: Document, candidates: Sequence[Candidate], written: Sequence[str], strict: bool
) -> tuple[list[Candidate], list[str]]:
    """Written phrases as candidates with their places, in order; and those that are dropped.

    A phrase that is a candidate has its places. Any other has every place where it stands as whole words; `strict`
    drops it, and so it is with a phrase that does not occur in the text.
    """
    known = {comparison_key(candidate.phrase): candidate for candidate in reversed(candidates)}
    if not strict:
        known = _found(document, [phrase for phrase in written if comparison_key(phrase) not in known]) | known
    chosen = [known[comparison_key(phrase)] for phrase in written if comparison_key(phrase) in known]
    return chosen, [phrase for phrase in written if comparison_key(phrase) not in known]


def _found(document: Document, written: Sequence[str]) -> dict[str, Candidate]:
    same = replace(document, text=document.text.translate(_FORMS))
    found, _ = given(same, [phrase.translate(_FORMS) for phrase in written])
    as_written = ((c, squeeze(c.occurrences[0].span.of(document.text)).lower()) for c in found)
    return {comparison_key(c.phrase): replace(c, phrase=phrase) for c, phrase in as_written}
