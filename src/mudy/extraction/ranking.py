"""One text: its candidates, their scores, and the keyphrases that these become, by the options.

The best occurrence of each phrase counts, variants are merged, and repetition is left out.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from heapq import heapify, heappop, heappush
from math import ceil
from types import MappingProxyType
from typing import Self

from mudy._support.callbacks import cancellable, check
from mudy._support.validation import TopN, checked_top_n
from mudy.errors import SettingError
from mudy.extraction.concepts import (
    HISTORY,
    LabelVectors,
    TagVote,
    raised,
    with_concepts,
    with_near_concepts,
    with_suggestions,
)
from mudy.extraction.options import DEFAULT_OPTIONS, Options, ProtocolName
from mudy.extraction.promptrank_protocol import promptrank_candidates
from mudy.extraction.results import Keyphrase, ScoredOccurrence
from mudy.methods.method import BatchMethod, GenerativeMethod, Method, OccurrenceScore, ScoredCandidates
from mudy.reading.candidates import (
    MAX_CHARACTERS,
    Candidate,
    CandidateKind,
    Occurrence,
    given,
    grouped,
    nested_candidates,
)
from mudy.reading.candidates import candidates as noun_phrases
from mudy.reading.candidates.acronyms import defined_acronyms, expanded
from mudy.reading.candidates.stemming import base_form, stem_parts, stems_of
from mudy.reading.candidates.vocabularies import Concept, Vocabulary
from mudy.reading.document import Document, squeeze

_DIGITS = 5  # significant digits that decide a rank; what lies beyond is float noise, and a tie
LIKELY = 0.12  # the lowest probability from which top_n="auto" returns a phrase
NEAR_BEST = 0.5  # and the lowest share of the best phrase's probability: about sixteen phrases of a real document


@dataclass(frozen=True, slots=True)
class PreparedText:
    """A text that was read, with its candidates and what is asked for."""

    document: Document
    candidates: tuple[Candidate, ...] = ()
    missing: tuple[str, ...] = ()  # given, but not in the text
    options: Options = DEFAULT_OPTIONS
    protocol: ProtocolName | None = None  # by which it was read
    known: Mapping[str, Concept] = field(default_factory=dict)  # candidate's phrase -> the concept whose label it is
    acronyms: Mapping[str, str] = field(default_factory=dict)  # that are merged with what they stand for

    def allows(self, candidate: Candidate) -> bool:
        """Whether a phrase may be returned beside the candidates: no other if they were given, under a protocol any."""
        if self.options.phrases is not None or self.options.only_concepts:
            return False
        longest = None if self.protocol else self.options.max_candidate_words
        words, characters = len(candidate.phrase.split()), len(candidate.phrase)
        short = longest is None or (words <= longest and characters <= MAX_CHARACTERS)
        return short and candidate.phrase not in self.options.excluded


def with_candidates(
    document: Document, options: Options, kind: CandidateKind = "nouns", protocol: ProtocolName | None = None
) -> PreparedText:
    """A document with its candidates: those given, those of the protocol, or those of a kind."""
    known, labelled = _labelled(document, options)
    if options.only_concepts:
        return PreparedText(document, tuple(labelled), (), options, protocol, known)
    candidates, missing = _candidates(document, options, kind, protocol)
    candidates = _merged(candidates, labelled) if labelled else candidates
    merged = options.merge and protocol is None
    acronyms = defined_acronyms(document.text, candidates, document.language) if merged else {}
    return PreparedText(document, tuple(candidates), missing, options, protocol, known, acronyms)


def _labelled(document: Document, options: Options) -> tuple[dict[str, Concept], list[Candidate]]:
    """The phrases that are labels of concepts, each with its concept, and as candidates."""
    known: dict[str, Concept] = {}
    places: list[tuple[str, Occurrence]] = []
    if (vocabulary := options.concepts) is None:
        return known, []
    excluded = options.excluded
    for span, number in vocabulary.index_of(document.language).places(document.text):
        phrase = squeeze(span.of(document.text)).lower()
        if phrase not in excluded:
            known.setdefault(phrase, vocabulary.concepts[number])
            places.append((phrase, Occurrence(span, document.sentence_at(span.start))))
    return known, grouped(places)


def _merged(candidates: Sequence[Candidate], labelled: Sequence[Candidate]) -> list[Candidate]:
    """Candidates of two kinds as one list, in text order: a phrase of both kinds has the occurrences of both."""
    both = dict.fromkeys((c.phrase, occurrence) for c in (*candidates, *labelled) for occurrence in c.occurrences)
    return grouped(sorted(both, key=lambda pair: pair[1].span))


def _candidates(
    document: Document, options: Options, kind: CandidateKind, protocol: ProtocolName | None
) -> tuple[list[Candidate], tuple[str, ...]]:
    """The candidates, and the phrases that were given but do not occur."""
    missing: tuple[str, ...] = ()
    if options.phrases is not None:
        candidates, missing = given(document, options.phrases)
    elif protocol is not None and kind == "nouns":  # it says how a text is read, not that nested ones are left out
        candidates = promptrank_candidates(document)
    else:
        find = nested_candidates if kind == "nested" else noun_phrases
        return find(document, max_words=options.max_candidate_words, stop_phrases=options.stop_phrases), missing
    excluded = options.excluded
    return [candidate for candidate in candidates if candidate.phrase not in excluded], missing


def score_texts(method: Method, prepared: Sequence[PreparedText]) -> list[ScoredCandidates]:
    """The scored candidates of each text, computed together where the method can; none depends on the other texts."""
    full = [text for text in prepared if text.candidates]
    if len(full) > 1 and isinstance(method, BatchMethod):
        scores = iter(method.score_many([(text.document, text.candidates) for text in full]))
        return [ScoredCandidates.of(text.candidates, next(scores) if text.candidates else ()) for text in prepared]
    return [_scored_alone(method, text) if text.candidates else ScoredCandidates((), ()) for text in prepared]


def _scored_alone(method: Method, text: PreparedText) -> ScoredCandidates:
    if isinstance(method, GenerativeMethod):  # those chosen, and such others as are allowed
        candidates = set(text.candidates)
        return method.choose(text.document, text.candidates).only(lambda c: c in candidates or text.allows(c))
    return ScoredCandidates.of(text.candidates, method.score(text.document, text.candidates))


Group = list[OccurrenceScore]  # of one phrase and its variants, best first


def keyphrase_list(
    text: PreparedText,
    scored: ScoredCandidates,
    kind: type[Method],
    vectors: Callable[[Vocabulary], LabelVectors],
    votes: Mapping[str, TagVote] = MappingProxyType({}),
) -> tuple[Keyphrase, ...]:
    """The keyphrases of one text; `vectors` encodes a vocabulary's labels, `votes` are by ids of concepts."""
    options, known, scores = text.options, text.known, scored.scores
    concepts = [known.get(scored.candidates[score.candidate].phrase) for score in scores]
    if (boost := options.boost) is not None:
        scores = raised(scores, [boost if concept else None for concept in concepts], "vocabulary", kind.calibrated)
    if votes:
        named = (votes.get(concept.id) if concept else None for concept in concepts)
        scores = raised(scores, [vote.gain if vote else None for vote in named], HISTORY, kind.calibrated)
    distinct = kind.distinct and not options.only_concepts  # concepts that are told apart say different things
    top_n = options.top_n if isinstance(options.top_n, int) else how_many(options.top_n, text.document.word_count)
    least = least_score(options, kind, max((score.score for score in scores), default=0.0))
    keyphrases = rank(
        text.document.text,
        scored.candidates,
        scores,
        names=PhraseNames.of(text),
        top_n=None if options.near is not None else top_n,
        diversity=options.diversity,
        min_score=least,
        distinct=distinct if options.distinct is None else options.distinct,
    )
    keyphrases = with_concepts(keyphrases, known) if known else keyphrases
    if options.concepts is not None and options.near is not None:
        keyphrases = with_near_concepts(keyphrases, vectors(options.concepts), options.near)
        if options.boost is None:
            kept = (keyphrase for keyphrase in keyphrases if keyphrase.concept is not None)
            keyphrases = tuple(replace(keyphrase, rank=rank) for rank, keyphrase in enumerate(kept, start=1))
    if votes:
        keyphrases = with_suggestions(keyphrases, votes, known, least, options.excluded)
    return keyphrases[:top_n]


def least_score(options: Options, kind: type[Method], best: float) -> float | None:
    """The score below which phrases are left out, by `top_n="auto"` and `min_score`."""
    if options.top_n == "auto" and not kind.calibrated:
        raise SettingError(f"top_n='auto' needs probabilities, but {kind.title} gives scores. Use mudyplus.")
    if options.min_score is not None and kind.calibrated and not 0 <= options.min_score <= 1:
        raise SettingError(f"min_score is {options.min_score}, but {kind.title} gives probabilities from 0 to 1.")
    limits = (max(LIKELY, NEAR_BEST * best) if options.top_n == "auto" else None, options.min_score)
    return max((limit for limit in limits if limit is not None), default=None)


def how_many(top_n: TopN, words: int) -> int | None:
    """A number as it is; a share such as 0.02 as that part of the text's words, at least one; else None, for all."""
    wanted = checked_top_n(top_n)
    if wanted == "auto":
        return None  # a score decides
    return max(1, ceil(wanted * words)) if isinstance(wanted, float) else wanted


@dataclass(frozen=True, slots=True)
class PhraseNames:
    """Which phrases are one: the labels of a concept; and if they are merged, inflections, acronyms and long forms."""

    merge: bool = True
    groups_of: Mapping[str, Hashable] = field(default_factory=dict)  # phrase -> its group, whatever its words
    acronyms: Mapping[str, str] = field(default_factory=dict)  # in lower case -> what they stand for
    language: str = "en"

    @classmethod
    def of(cls, text: PreparedText) -> Self:
        concepts = {phrase: concept.id for phrase, concept in text.known.items()}
        return cls(text.options.merge, concepts, text.acronyms, text.document.language)

    def key(self, phrase: str) -> Hashable:
        if phrase in self.groups_of:
            return self.groups_of[phrase]
        return variant_key(self._spelled_out(phrase), self.language) if self.merge else phrase

    def stems(self, form: str) -> frozenset[str]:
        return stem_parts(self._spelled_out(form), self.language)

    def has_acronym(self, form: str) -> bool:
        return bool(self.acronyms) and any(word.lower() in self.acronyms for word in squeeze_hyphens(form).split())

    def _spelled_out(self, phrase: str) -> str:
        return expanded(squeeze_hyphens(phrase), self.acronyms)


def rank(
    text: str,
    candidates: Sequence[Candidate],
    scores: Sequence[OccurrenceScore],
    *,
    names: PhraseNames | None = None,
    top_n: int | None = None,
    diversity: float = 0.0,
    min_score: float | None = None,
    distinct: bool = False,
) -> tuple[Keyphrase, ...]:
    """The best phrases, each with all its occurrences; those that are one by `names` are merged.

    `distinct` leaves out phrases that repeat a better one, and shows each phrase in its usual form.
    """
    names = names or PhraseNames()
    groups: dict[Hashable, Group] = {}
    spans = [score.occurrence.span for score in scores]
    order = sorted(range(len(scores)), key=lambda i: (-rounded(scores[i].score), spans[i].start, spans[i].end))
    for score in cancellable((scores[i] for i in order), every=1024):
        groups.setdefault(names.key(candidates[score.candidate].phrase), []).append(score)
    # A group ranks as its best occurrence.
    ordered = [group for group in groups.values() if min_score is None or group[0].score >= min_score]
    if distinct:  # all of them if a choice is still to come
        ordered = without_repetition(text, ordered, None if diversity else top_n, names)
    if diversity:
        ordered = diversified(ordered, [names.stems(_form(text, group[0])) for group in ordered], diversity, top_n)
    chosen = cancellable(ordered[:top_n], every=256)
    spelled_out = (sorted(group, key=lambda score: names.has_acronym(_form(text, score))) for group in chosen)
    shown = (usual_form_first(text, group, names) if distinct else group for group in spelled_out)
    return tuple(_keyphrase(text, place, group) for place, group in enumerate(shown, start=1))


def usual_form_first(text: str, group: Group, names: PhraseNames) -> Group:
    """The group with occurrences in the usual form first; an acronym is that only if it is never spelled out."""
    forms = [_form(text, score) for score in group]
    shown = usual_form([form for form in forms if not names.has_acronym(form)] or forms)
    return sorted(group, key=lambda score: _form(text, score) != shown)


def usual_form(forms: Sequence[str]) -> str:
    """The most common form of a phrase; its singular if that is among them, in its most common case."""
    counts = Counter(form.lower() for form in forms)
    common = counts.most_common(1)[0][0]
    singulars = (common.removesuffix("s"), common.removesuffix("es"), common.removesuffix("ies") + "y")
    word = next((form for form in singulars if form in counts and form != common), common)
    cases = Counter(form for form in forms if form.lower() == word)
    return max(cases, key=lambda form: (cases[form], form.islower()))


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


# No list has two phrases of which one repeats the other. A phrase is left out if it has the stems of one chosen before,
# or is a part of one, or contains one. Only a longer one may join a shorter one, as "heat pump tariff" joins "heat
# pump", if it is repeated, and the usual form.


@dataclass(frozen=True, slots=True)
class Mention:
    """What decides whether a phrase repeats another."""

    stems: frozenset[str]
    count: int  # occurrences, also inside longer phrases
    alone: int  # occurrences outside longer phrases


def says_the_same(phrase: Mention, chosen: Mention) -> bool:
    """Whether a phrase adds nothing to one chosen before it."""
    if phrase.stems <= chosen.stems:
        return True
    return phrase.stems > chosen.stems and phrase.count <= max(1, chosen.alone)


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


def without_repetition(text: str, groups: Sequence[Group], top_n: int | None, names: PhraseNames) -> list[Group]:
    """The groups that add something new, best first, at most `top_n`."""
    nested, end = set(), -1  # the spans inside longer ones
    for span in sorted({score.occurrence.span for group in groups for score in group}, key=lambda s: (s.start, -s.end)):
        if span.end <= end:
            nested.add(span)
        end = max(end, span.end)
    alone = (sum(score.occurrence.span not in nested for score in group) for group in groups)
    stems = (names.stems(_form(text, group[0])) for group in groups)
    mentions = [Mention(*facts) for facts in zip(stems, map(len, groups), alone, strict=True)]
    return [groups[index] for index in distinct_mentions(mentions, top_n)]


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
