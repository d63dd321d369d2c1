"""Scores -> keyphrases: the best occurrence of each phrase, variants merged, repetition left out, by the options."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from math import ceil

from mudy._support.cancellation import cancellable, check
from mudy._support.validation import TopN, checked_top_n
from mudy.candidates import Candidate
from mudy.candidates.inflections import base_form
from mudy.candidates.stemming import stem_parts, stems_of
from mudy.errors import SettingError
from mudy.extraction.concepts import LabelVectors, boosted, of_concepts, with_concepts, with_near_concepts
from mudy.extraction.options import Options
from mudy.extraction.preparation import PreparedText
from mudy.extraction.results import Keyphrase, ScoredOccurrence
from mudy.methods.method import Method, OccurrenceScore, ScoredCandidates
from mudy.reading.document import Span, squeeze
from mudy.vocabularies import Vocabulary

_DIGITS = 5  # significant digits that decide a rank; what lies beyond is float noise, and a tie
LIKELY = 0.12  # the probability from which top_n="auto" returns a phrase: it gave the best F1 in development

Group = list[OccurrenceScore]  # of one phrase and its variants, best first


def keyphrase_list(
    text: PreparedText, scored: ScoredCandidates, kind: type[Method], vectors: Callable[[Vocabulary], LabelVectors]
) -> tuple[Keyphrase, ...]:
    """The keyphrases of one text, with concepts if a vocabulary is given; `vectors` encodes its labels."""
    options, known, scores = text.options, text.known, scored.scores
    if options.boost is not None:
        scores = boosted(scored.candidates, scores, known, options.boost, kind.calibrated)
    distinct = kind.distinct and not options.only_concepts  # concepts that are told apart say different things
    top_n = how_many(options.top_n, text.words)
    keyphrases = rank(
        text.document.text,
        scored.candidates,
        scores,
        merge=options.merge,
        top_n=None if options.near is not None else top_n,
        diversity=options.diversity,
        min_score=least_score(options, kind),
        distinct=distinct if options.distinct is None else options.distinct,
        groups_of={phrase: concept.id for phrase, concept in known.items()},
        language=text.document.language,
    )
    keyphrases = with_concepts(keyphrases, known) if known else keyphrases
    if options.concepts is not None and options.near is not None:
        keyphrases = with_near_concepts(keyphrases, vectors(options.concepts), options.near)
        keyphrases = of_concepts(keyphrases) if options.boost is None else keyphrases
    return keyphrases[:top_n]


def least_score(options: Options, kind: type[Method]) -> float | None:
    """The score below which phrases are left out, by `top_n="auto"` and `min_score`."""
    if options.top_n == "auto" and not kind.calibrated:
        raise SettingError(f"top_n='auto' needs probabilities, but {kind.title} gives scores. Use mudyplus.")
    if options.min_score is not None and kind.calibrated and not 0 <= options.min_score <= 1:
        raise SettingError(f"min_score is {options.min_score}, but {kind.title} gives probabilities from 0 to 1.")
    limits = (LIKELY if options.top_n == "auto" else None, options.min_score)
    return max((limit for limit in limits if limit is not None), default=None)


def how_many(top_n: TopN, words: int) -> int | None:
    """A number as it is; a share such as 0.02 as that part of the text's words, at least one; else None, for all."""
    wanted = checked_top_n(top_n)
    if wanted == "auto":
        return None  # a score decides
    return max(1, ceil(wanted * words)) if isinstance(wanted, float) else wanted


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

    `distinct` leaves out phrases that repeat a better one, and shows each phrase in its usual form. `groups_of` maps
    phrases to a group, whatever their words: the labels of one concept are one phrase.
    """
    shared = groups_of or {}

    def key(phrase: str) -> Hashable:
        return shared[phrase] if phrase in shared else variant_key(phrase, language) if merge else phrase

    groups: dict[Hashable, Group] = {}
    for score in cancellable(sorted(scores, key=best_first), every=1024):
        groups.setdefault(key(candidates[score.candidate].phrase), []).append(score)
    ordered = [  # a group ranks as its best occurrence
        group for group in groups.values() if min_score is None or group[0].score >= min_score
    ]
    if distinct:  # all of them if a choice is still to come
        ordered = without_repetition(text, ordered, None if diversity else top_n, language)
    if diversity:
        words = [stem_parts(squeeze_hyphens(_form(text, group[0])), language) for group in ordered]
        ordered = diversified(ordered, words, diversity, top_n)
    chosen = cancellable(ordered[:top_n], every=256)
    shown = (usual_form_first(text, group) if distinct else group for group in chosen)
    return tuple(_keyphrase(text, place, group) for place, group in enumerate(shown, start=1))


def usual_form_first(text: str, group: Group) -> Group:
    """The group with occurrences in the usual form first."""
    shown = usual_form([_form(text, score) for score in group])
    return sorted(group, key=lambda score: _form(text, score) != shown)


def usual_form(forms: Sequence[str]) -> str:
    """The most common form of a phrase; its singular if that is among them, in its most common case."""
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
    """A score as a ranking compares it."""
    return float(f"{score:.{_DIGITS}g}")


def variant_key(phrase: str, language: str = "en") -> tuple[str, ...]:
    """Phrases that differ in inflection alone are one: singular and plural, "decision-making" and "decision making"."""
    return tuple(base_form(word, language) for word in squeeze_hyphens(phrase).split())


def stem_key(phrase: str, language: str) -> tuple[str, ...]:
    """The stems of a phrase, by which it is compared with gold keyphrases."""
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


# -- Repetition -------------------------------------------------------------------------------------------------------

# No list has two phrases of which one repeats the other. A phrase is left out if it has the stems of one chosen before,
# or is a part of one, or contains one. Two such phrases stay together only if both have a life of their own, as "heat
# pump" and "heat pump tariff": the shorter one occurs alone often enough, or the longer one is not a passing mention.
# Of phrases with one head that differ in one word of three or more ("hybrid fuzzy modeling", "adaptive fuzzy modeling")
# the first stays.

INSIDE = 2.0  # a part of a chosen phrase must occur alone so many times as often as that phrase occurs
MORE_THAN_A_HEAD = 2  # words that two phrases share
OUTSIDE = 0.1  # a longer form of a chosen phrase must occur so many times as often as that one occurs alone


@dataclass(frozen=True, slots=True)
class Mention:
    """What decides whether a phrase repeats another."""

    stems: frozenset[str]
    count: int  # occurrences, also inside longer phrases
    alone: int  # occurrences outside longer phrases
    head: str = ""  # the stem of its last word; empty if that need not be its head


def says_the_same(phrase: Mention, chosen: Mention) -> bool:
    """Whether a phrase adds nothing to one chosen before it."""
    if phrase.stems == chosen.stems:
        return True
    if phrase.stems < chosen.stems:
        return phrase.alone < INSIDE * chosen.count
    if phrase.stems > chosen.stems:
        return phrase.count < OUTSIDE * chosen.alone
    return differ_in_a_modifier(phrase, chosen)


def differ_in_a_modifier(phrase: Mention, other: Mention) -> bool:
    """Whether two phrases of one head share all words but one, and more than the head."""
    if not phrase.head or phrase.head != other.head:
        return False
    shared = phrase.stems & other.stems
    longest = max(len(phrase.stems), len(other.stems))
    return len(shared) >= MORE_THAN_A_HEAD and len(shared) >= longest - 1


def distinct_mentions(ranked: Sequence[Mention], top_n: int | None = None) -> list[int]:
    """The indices of the ranked phrases that make the list: each is compared with those chosen before it."""
    chosen: list[int] = []
    holding: dict[str, set[int]] = defaultdict(set)  # stem -> the chosen phrases that have it
    for index, mention in enumerate(cancellable(ranked, every=256)):
        if len(chosen) == top_n:
            break
        near: set[int] = set().union(*(holding[stem] for stem in mention.stems))
        if not any(says_the_same(mention, ranked[other]) for other in near):
            chosen.append(index)
            for stem in mention.stems:
                holding[stem].add(index)
    return chosen


def without_repetition(text: str, groups: Sequence[Group], top_n: int | None, language: str = "en") -> list[Group]:
    """The groups that add something new, best first, at most `top_n`."""
    nested = _nested_spans({score.occurrence.span for group in groups for score in group})
    mentions = [_mention(squeeze_hyphens(_form(text, group[0])), language, group, nested) for group in groups]
    return [groups[index] for index in distinct_mentions(mentions, top_n)]


def _mention(phrase: str, language: str, group: Sequence[OccurrenceScore], nested: set[Span]) -> Mention:
    alone = sum(score.occurrence.span not in nested for score in group)
    words = stems_of(phrase, language) if language == "en" else ()  # elsewhere it need not end with its head
    return Mention(stem_parts(phrase, language), len(group), alone, words[-1] if words else "")


def _nested_spans(spans: Iterable[Span]) -> set[Span]:
    """The spans inside longer ones."""
    nested, end = set(), -1
    for span in sorted(spans, key=lambda span: (span.start, -span.end)):
        if span.end <= end:
            nested.add(span)
        end = max(end, span.end)
    return nested


# -- Diversity --------------------------------------------------------------------------------------------------------


def diversified(
    groups: Sequence[Group], words: Sequence[frozenset[str]], diversity: float, top_n: int | None
) -> list[Group]:
    """Maximal marginal relevance: each next phrase is good, and shares few words with those before it.

    Relevance is the score scaled to [0, 1]; redundancy is the share of common stems (Jaccard).
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

    sharing: dict[str, set[int]] = {}  # word -> the phrases left with it: no other's redundancy changes
    for i, stems in enumerate(words):
        for word in stems:
            sharing.setdefault(word, set()).add(i)
    left = [(-marginal(i), i) for i in range(len(groups))]  # a heap: the best first, of equals the one ranked higher
    heapify(left)
    chosen: list[Group] = []
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
