"""Scores -> keyphrases: the best occurrence of each phrase, variants merged, ties broken by position."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence, Set
from heapq import heapify, heappop, heappush
from math import ceil

from mudy._support.cancellation import cancellable, check
from mudy._support.validation import TopN, checked_top_n
from mudy.candidates import Candidate
from mudy.candidates.inflections import base_form
from mudy.candidates.stemming import stem_parts, stems_of
from mudy.errors import SettingError
from mudy.extraction.overlap import Mention, distinct_mentions
from mudy.extraction.results import Keyphrase, ScoredOccurrence
from mudy.methods.method import OccurrenceScore
from mudy.reading.document import Span, squeeze

_DIGITS = 5  # significant digits that decide a rank; what lies beyond is float noise, and a tie


def rank(
    text: str,
    candidates: Sequence[Candidate],
    scores: Sequence[OccurrenceScore],
    *,
    merge: bool = True,
    top_n: int | None = None,
    diversity: float = 0.0,
    min_score: float | None = None,
    distinct: bool = False,
    groups_of: Mapping[str, Hashable] | None = None,
    language: str = "en",
) -> tuple[Keyphrase, ...]:
    """The best phrases, each with all its occurrences; inflections of one phrase are merged.

    `distinct` leaves out phrases that say what a phrase before them says, and shows each phrase in its usual form.
    `groups_of` are phrases that are one whatever their words: the labels of one concept.
    """
    shared = groups_of or {}

    def key(phrase: str) -> Hashable:
        return shared[phrase] if phrase in shared else variant_key(phrase, language) if merge else phrase

    groups: dict[Hashable, list[OccurrenceScore]] = {}
    for score in cancellable(sorted(scores, key=best_first), every=1024):
        groups.setdefault(key(candidates[score.candidate].phrase), []).append(score)
    ordered = [  # a group stands where its best occurrence stands
        group for group in groups.values() if min_score is None or group[0].score >= min_score
    ]
    if distinct:  # all of them where a choice is still to come
        ordered = without_repetition(text, ordered, None if diversity else top_n, language)
    if diversity:
        words = [stem_parts(squeeze_hyphens(_form(text, group[0])), language) for group in ordered]
        ordered = diversified(ordered, words, diversity, top_n)
    chosen = cancellable(ordered[:top_n], every=256)
    shown = (usual_form_first(text, group) if distinct else group for group in chosen)
    return tuple(_keyphrase(text, place, group) for place, group in enumerate(shown, start=1))


def without_repetition(
    text: str, groups: Sequence[list[OccurrenceScore]], top_n: int | None, language: str = "en"
) -> list[list[OccurrenceScore]]:
    """The groups that say something new, best first, at most `top_n`."""
    nested = _nested_spans({score.occurrence.span for group in groups for score in group})
    mentions = [_mention(squeeze_hyphens(_form(text, group[0])), language, group, nested) for group in groups]
    return [groups[index] for index in distinct_mentions(mentions, top_n)]


def _mention(phrase: str, language: str, group: Sequence[OccurrenceScore], nested: set[Span]) -> Mention:
    alone = sum(score.occurrence.span not in nested for score in group)
    words = stems_of(phrase, language) if language == "en" else ()  # elsewhere the last word need not be the head
    return Mention(stem_parts(phrase, language), len(group), alone, words[-1] if words else "")


def _nested_spans(spans: Iterable[Span]) -> set[Span]:
    """The spans that lie inside longer ones."""
    nested, end = set(), -1
    for span in sorted(spans, key=lambda span: (span.start, -span.end)):
        if span.end <= end:
            nested.add(span)
        end = max(end, span.end)
    return nested


def usual_form_first(text: str, group: list[OccurrenceScore]) -> list[OccurrenceScore]:
    """A group whose occurrences in the form to show come first."""
    shown = usual_form([_form(text, score) for score in group])
    return sorted(group, key=lambda score: _form(text, score) != shown)


def usual_form(forms: Sequence[str]) -> str:
    """The commonest of some forms of one phrase; its singular where that is among them, in its commonest case."""
    counts = Counter(form.lower() for form in forms)
    common = counts.most_common(1)[0][0]
    singulars = (common.removesuffix("s"), common.removesuffix("es"), common.removesuffix("ies") + "y")
    word = next((form for form in singulars if form in counts and form != common), common)
    cases = Counter(form for form in forms if form.lower() == word)
    return max(cases, key=lambda form: (cases[form], form.islower()))


def best_first(score: OccurrenceScore) -> tuple[float, int, int]:
    span = score.occurrence.span
    return -rounded(score.score), span.start, span.end


def rounded(score: float) -> float:
    """A score as it counts in a ranking."""
    return float(f"{score:.{_DIGITS}g}")


def variant_key(phrase: str, language: str = "en") -> tuple[str, ...]:
    """Phrases that differ in inflection alone are one: singular and plural, "decision-making" and "decision making"."""
    return tuple(base_form(word, language) for word in squeeze_hyphens(phrase).split())


def stem_key(phrase: str, language: str) -> tuple[str, ...]:
    """The stems of a phrase, by which it is compared with gold, as evaluations do."""
    return stems_of(squeeze_hyphens(phrase), language)


def squeeze_hyphens(phrase: str) -> str:
    return squeeze(phrase.replace("-", " ")) or phrase


def _form(text: str, score: OccurrenceScore) -> str:
    return squeeze(score.occurrence.span.of(text))


def _keyphrase(text: str, place: int, group: Sequence[OccurrenceScore]) -> Keyphrase:
    forms = list(dict.fromkeys(_form(text, score) for score in group))
    occurrences = tuple(
        ScoredOccurrence(s.occurrence.span.start, s.occurrence.span.end, s.score, s.parts) for s in group
    )
    best = max(score.score for score in group)
    return Keyphrase(place, forms[0], best, tuple(forms[1:]), occurrences)


def diversified(
    groups: Sequence[list[OccurrenceScore]], words: Sequence[frozenset[str]], diversity: float, top_n: int | None
) -> list[list[OccurrenceScore]]:
    """Maximal marginal relevance: each next phrase is good, and shares few words with those before it.

    Relevance is the score brought to [0, 1]; redundancy is the share of common stems (Jaccard).
    """
    if not 0 <= diversity <= 1:
        raise SettingError(f"diversity is {diversity}, but must lie between 0 (off) and 1.")
    if not groups:
        return []
    high, low = groups[0][0].score, groups[-1][0].score
    relevance = [(group[0].score - low) / (high - low or 1.0) for group in groups]
    redundancy = [0.0] * len(groups)

    def marginal(i: int) -> float:
        return round((1 - diversity) * relevance[i] - diversity * redundancy[i], 9)

    sharing: dict[str, set[int]] = {}  # word -> the phrases left that have it: no other's redundancy can change
    for i, own in enumerate(words):
        for word in own:
            sharing.setdefault(word, set()).add(i)
    left = [(-marginal(i), i) for i in range(len(groups))]  # a heap: the best first, of equals the one ranked higher
    heapify(left)
    chosen: list[list[OccurrenceScore]] = []
    while left and len(chosen) < (top_n or len(groups)):
        check()
        value, best = heappop(left)
        if -value != marginal(best):  # it fell since: values never rise
            heappush(left, (-marginal(best), best))
            continue
        chosen.append(groups[best])
        for word in words[best]:
            sharing[word].discard(best)
        for i in set().union(*(sharing[word] for word in words[best])):
            redundancy[i] = max(redundancy[i], overlap(words[i], words[best]))
    return chosen


def overlap(first: Set[str], second: Set[str]) -> float:
    """Shared words over all words (Jaccard)."""
    return len(first & second) / len(first | second) if first or second else 0.0


def how_many(top_n: TopN, words: int) -> int | None:
    """A number as it is; a share such as 0.02 as that part of the text's words, at least one; else None, for all."""
    wanted = checked_top_n(top_n)
    if wanted == "auto":
        return None  # a score decides
    return max(1, ceil(wanted * words)) if isinstance(wanted, float) else wanted
