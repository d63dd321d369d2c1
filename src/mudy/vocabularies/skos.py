"""Statements of SKOS and SKOS-XL -> concepts, with labels in one language.

Only labels are read. What is broader or narrower than a concept plays no part, so that no cycle can do harm.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from mudy.errors import InputError
from mudy.vocabularies.concepts import Concept
from mudy.vocabularies.triples import RDF, Triple

SKOS, SKOS_XL = "http://www.w3.org/2004/02/skos/core#", "http://www.w3.org/2008/05/skos-xl#"
_KINDS = ("prefLabel", "altLabel", "hiddenLabel")
_LABELS = {f"{SKOS}{kind}": kind for kind in _KINDS}
_LABEL_NODES = {f"{SKOS_XL}{kind}": kind for kind in _KINDS}
_FORM = f"{SKOS_XL}literalForm"
_DEPRECATED = "http://www.w3.org/2002/07/owl#deprecated"
_NO_CONCEPTS = frozenset(f"{SKOS}{name}" for name in ("ConceptScheme", "Collection", "OrderedCollection"))

Label = tuple[str, str, str]  # kind, language, text


@dataclass
class Statements:
    """What statements say of labels, by resource."""

    labels: dict[str, list[Label]] = field(default_factory=dict)
    nodes: dict[str, list[tuple[str, str]]] = field(default_factory=dict)  # resource -> kind, label node (SKOS-XL)
    forms: dict[str, tuple[str, str]] = field(default_factory=dict)  # label node -> language, text
    left_out: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, triples: Iterable[Triple]) -> Statements:
        made = cls()
        for triple in triples:
            made._add(triple)
        return made

    def _add(self, triple: Triple) -> None:
        subject, predicate, value, language, literal = triple
        if predicate in _LABELS and literal:
            self.labels.setdefault(subject, []).append((_LABELS[predicate], language, value))
        elif predicate in _LABEL_NODES and not literal:
            self.labels.setdefault(subject, [])
            self.nodes.setdefault(subject, []).append((_LABEL_NODES[predicate], value))
        elif predicate == _FORM and literal:
            self.forms[subject] = language, value
        elif predicate == f"{RDF}type" and value == f"{SKOS}Concept":
            self.labels.setdefault(subject, [])
        elif (predicate == f"{RDF}type" and value in _NO_CONCEPTS) or (predicate == _DEPRECATED and value == "true"):
            self.left_out.add(subject)

    def resources(self) -> Iterator[tuple[str, list[Label]]]:
        """Each concept with all its labels."""
        for subject, labels in self.labels.items():
            if subject not in self.left_out:
                nodes = self.nodes.get(subject, ())
                yield subject, labels + [(kind, *self.forms[node]) for kind, node in nodes if node in self.forms]


def skos_concepts(triples: Iterable[Triple], language: str) -> Iterator[Concept]:
    """Each concept with its labels in a language, or in none; without any it has an empty label."""
    statements = Statements.of(triples)
    languages = {tag for _, labels in statements.resources() for _, tag, _ in labels}
    wanted = {tag for tag in languages if speaks(tag, language)}
    if languages and not wanted:
        known = ", ".join(sorted(languages))
        raise InputError(f"no label is in the language {language!r}; there are labels in {known}. Name one of these.")
    for subject, labels in statements.resources():
        own = sorted((label for label in labels if label[1] in wanted), key=lambda label: _order(label, language))
        texts = [text for _, _, text in own]
        yield Concept(subject, texts[0] if texts else "", tuple(texts[1:]))


def speaks(tag: str, language: str) -> bool:
    """Whether a label's language tag is the language asked for, one of its regions, or empty."""
    tag = tag.lower()
    return tag in ("", language.lower()) or tag.startswith(f"{language.lower()}-")


def _order(label: Label, language: str) -> tuple[int, int]:
    """Preferred labels first; of these the language itself, then without any, then its regions."""
    kind, tag, _ = label
    return _KINDS.index(kind), 0 if tag == language.lower() else 1 if not tag else 2
