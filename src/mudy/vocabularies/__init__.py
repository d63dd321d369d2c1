"""Vocabularies of the caller: concepts with an id, a preferred label and alternative ones, found in texts by stems."""

from mudy.vocabularies.concepts import Concept, Vocabulary

__all__ = ["Concept", "Vocabulary"]
