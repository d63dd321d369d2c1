"""Statements of SKOS and SKOS-XL -> concepts, with labels in one language.

Only labels are read. What is broader or narrower than a concept plays no part, so that no cycle can do harm.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import count

from mudy.errors import InputError
from mudy.vocabularies.concepts import Concept
from mudy.vocabularies.rdf import RDF, Triple

SKOS, SKOS_XL = "http://www.w3.org/2004/02/skos/core#", "http://www.w3.org/2008/05/skos-xl#"
_KINDS = ("prefLabel", "altLabel", "hiddenLabel")
_LABELS = {f"{SKOS}{kind}": kind for kind in _KINDS}
_LABEL_NODES = {f"{SKOS_XL}{kind}": kind for kind in _KINDS}
_FORM = f"{SKOS_XL}literalForm"
_TYPE = f"{RDF}type"
_DEPRECATED = "http://www.w3.org/2002/07/owl#deprecated"
_NO_CONCEPTS = frozenset(f"{SKOS}{name}" for name in ("ConceptScheme", "Collection", "OrderedCollection"))
PREDICATES = frozenset((*_LABELS, *_LABEL_NODES, _FORM, _TYPE, _DEPRECATED))  # the others say nothing of labels
_MOST_LABELS, _LONGEST_LABEL = 5_000_000, 10_000

Label = tuple[str, str, str]  # kind, language, text


@dataclass
class Statements:
    """What statements say of labels in one language, by resource."""

    language: str
    labels: dict[str, list[Label]] = field(default_factory=dict)
    nodes: dict[str, list[tuple[str, str]]] = field(default_factory=dict)  # resource -> kind, label node (SKOS-XL)
    forms: dict[str, tuple[str, str]] = field(default_factory=dict)  # label node -> language, text
    left_out: set[str] = field(default_factory=set)
    other_languages: set[str] = field(default_factory=set)  # of labels that were passed over
    kept: int = 0  # labels

    def add(self, triple: Triple) -> None:
        subject, predicate, value, language = triple
        if predicate in _LABELS and language is not None:
            labels = self.labels.setdefault(subject, [])
            if self._keeps(subject, value, language):
                labels.append((_LABELS[predicate], language, value))
        elif predicate in _LABEL_NODES and language is None:
            self.labels.setdefault(subject, [])
            self.nodes.setdefault(subject, []).append((_LABEL_NODES[predicate], value))
        elif predicate == _FORM and language is not None:
            if self._keeps(subject, value, language):
                self.forms[subject] = language, value
        elif predicate == _TYPE and value == f"{SKOS}Concept":
            self.labels.setdefault(subject, [])
        elif (predicate == _TYPE and value in _NO_CONCEPTS) or (predicate == _DEPRECATED and value in ("true", "1")):
            self.left_out.add(subject)

    def _keeps(self, subject: str, label: str, language: str) -> bool:
        if not speaks(language, self.language):
            self.other_languages.add(language)
            return False
        self.kept += 1
        if self.kept > _MOST_LABELS:
            raise InputError(f"there are more than {_MOST_LABELS:,} labels. Divide the vocabulary.")
        if len(label) > _LONGEST_LABEL:
            raise InputError(f"a label of {subject} has {len(label):,} characters, more than {_LONGEST_LABEL:,}.")
        return True

    def resources(self) -> Iterator[tuple[str, list[Label]]]:
        """Each concept with all its labels."""
        for subject, labels in self.labels.items():
            if subject not in self.left_out:
                nodes = self.nodes.get(subject, ())
                yield subject, labels + [(kind, *self.forms[node]) for kind, node in nodes if node in self.forms]


def skos_concepts(triples: Iterable[Triple], language: str) -> Iterator[Concept]:
    """Each concept with its labels in a language, or in none; without any it has an empty label."""
    statements = Statements(language)
    for triple in triples:
        statements.add(triple)
    if statements.other_languages and not any(labels for _, labels in statements.resources()):
        known = ", ".join(sorted(statements.other_languages))
        raise InputError(f"no label is in the language {language!r}; there are labels in {known}. Name one of these.")
    blank_nodes = count(1)
    for subject, labels in statements.resources():
        texts = [text for _, _, text in sorted(labels, key=lambda label: _order(label, language))]
        name = f"_:{next(blank_nodes)}" if subject.startswith("_:") else subject  # a parser makes up names for these
        yield Concept(name, texts[0] if texts else "", tuple(texts[1:]))


def speaks(tag: str, language: str) -> bool:
    """Whether a label's language tag is the language asked for, one of its regions, or empty."""
    tag = tag.lower()
    return tag in ("", language.lower()) or tag.startswith(f"{language.lower()}-")


def _order(label: Label, language: str) -> tuple[int, int]:
    """Preferred labels first; of these the language itself, then without any, then its regions."""
    kind, tag, _ = label
    return _KINDS.index(kind), 0 if tag == language.lower() else 1 if not tag else 2
