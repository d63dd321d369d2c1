"""How a corpus is written as a table that spreadsheets open, and how far a long text is."""

import csv
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from mudy import corpus
from mudy._support.callbacks import reported_to
from mudy.corpus import Columns, runner
from mudy.extraction.extractor import Extractor
from mudy.methods.chunks import scored_in_chunks
from mudy.methods.promptrank import PromptRank
from mudy.methods.samrank import SAMRank
from tests import small
from tests.corpora import jsonl, rows, run, texts
from tests.taggers import english

HEAD = ["id", "rank", "keyphrase", "score", "variants", "start", "end", "page", "occurrences"]
HEAD += ["concept_id", "concept_label", "concept_match", "concept_similarity", "warning", "error"]


def table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as stream:
        return list(csv.DictReader(stream, delimiter="\t" if path.suffix == ".tsv" else ","))


@pytest.mark.parametrize("ending", [".csv", ".tsv"])
def test_each_keyphrase_is_a_line_with_its_text_and_the_columns_kept(tmp_path: Path, ending: str) -> None:
    some: list[Any] = [{"id": i, "text": text, "year": 2000 + i} for i, text in enumerate(texts(12))]
    source = jsonl(tmp_path / "in.jsonl", [*some, {"id": "none", "text": "", "year": 1}, {"id": "bad", "text": None}])
    columns = Columns(keep=("year",))
    run(source, tmp_path / "out.jsonl", columns=columns)
    run(source, tmp_path / f"out{ending}", columns=columns, part_rows=5)
    found = table(tmp_path / f"out{ending}")
    assert list(found[0]) == [*HEAD, "year"]
    expected = [
        (row["id"], str(phrase["rank"]), phrase["text"], float(phrase["score"]), str(row["year"]))
        for row in rows(tmp_path / "out.jsonl")
        for phrase in row["keyphrases"]
    ]
    lines = [line for line in found if line["keyphrase"]]
    assert [(x["id"], x["rank"], x["keyphrase"], float(x["score"]), x["year"]) for x in lines] == expected
    assert [(line["id"], line["error"]) for line in found if not line["keyphrase"]] == [
        ("none", ""),
        ("bad", "column 'text' is null, not a text"),
    ]
    assert all(some[int(x["id"])]["text"][int(x["start"]) : int(x["end"])].lower() for x in lines)


def test_a_long_value_that_is_kept_survives_the_joining_of_parts(tmp_path: Path) -> None:
    limit = csv.field_size_limit(131_072)  # Python's default
    try:
        source = jsonl(tmp_path / "in.jsonl", [{"text": "River ice.", "more": "x" * 200_000}] * 2)
        run(source, tmp_path / "out.csv", columns=Columns(keep=("more",)), part_rows=1)
        assert {len(line["more"]) for line in table(tmp_path / "out.csv")} == {200_000}
    finally:
        csv.field_size_limit(limit)


def test_a_spreadsheet_knows_the_encoding_by_a_byte_order_mark(tmp_path: Path) -> None:
    source = jsonl(tmp_path / "in.jsonl", [{"id": "é", "text": "Naïve Straße maps guide trucks."}])
    run(source, tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_bytes().startswith(b"\xef\xbb\xbfid,rank,")
    assert table(tmp_path / "out.csv")[0]["id"] == "é"


def test_parts_with_other_columns_are_joined_under_one_head(tmp_path: Path) -> None:
    values: list[Any] = [{"text": text, f"c{i % 3}": 'a "quoted"\nline', "rank": i} for i, text in enumerate(texts(9))]
    source = jsonl(tmp_path / "in.jsonl", values)
    run(source, tmp_path / "out.csv", columns=Columns(keep=None), part_rows=1)
    found = table(tmp_path / "out.csv")
    assert list(found[0]) == [*HEAD, "c0", "input_rank", "c1", "c2"]
    kept = {(line["c0"], line["c1"], line["c2"]) for line in found}
    quoted = 'a "quoted"\nline'
    assert kept == {(quoted, "", ""), ("", quoted, ""), ("", "", quoted)}
    assert {line["input_rank"] for line in found} == set(map(str, range(9)))


def test_a_folder_of_csv_parts_has_a_head_in_each(tmp_path: Path) -> None:
    source = jsonl(tmp_path / "in.jsonl", [{"text": text} for text in texts(10)])
    run(source, tmp_path / "out", form="csv", part_rows=5)
    assert [list(table(part)[0]) for part in sorted((tmp_path / "out").glob("*.csv"))] == [HEAD, HEAD]


def test_an_empty_corpus_is_a_head_alone(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text("")
    run(tmp_path / "in.jsonl", tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text(encoding="utf-8-sig").split() == [",".join(HEAD)]


# -- Progress within a text -------------------------------------------------------------------------------------------


class Given(Extractor):
    """An extractor with a method that is made already."""

    def __init__(self, scorer: Any, name: str) -> None:
        super().__init__(name, language=english())
        vars(self)["scorer"] = scorer


METHODS: list[tuple[str, Any]] = [
    ("promptrank", lambda: PromptRank(small.decoder("llama"), section_tokens=64)),
    ("samrank", lambda: SAMRank(small.decoder("llama"), layer=1, head=0, segment_tokens=64)),
]


@pytest.mark.parametrize(("name", "made"), METHODS)
def test_a_long_text_is_reported_section_by_section(name: str, made: Any) -> None:
    shares: list[float] = []
    with reported_to(shares.append):
        Given(made(), name).extract(f"{small.TEXT} " * 8)
    assert len(shares) > 3
    assert shares == sorted(shares)
    assert 0 < shares[0] < 0.5
    assert shares[-1] == 1.0


def test_nobody_need_listen() -> None:
    backbone = small.decoder("llama")
    document = english().document(small.TEXT)
    assert scored_in_chunks([(document, [])], backbone, 64, lambda chunks: [[] for _ in chunks]) == [[]]


def test_the_progress_of_one_long_text_is_a_share_of_the_corpus(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    extractor = Given(METHODS[0][1](), "promptrank")
    monkeypatch.setattr("mudy.corpus.runner.Recipe.build", lambda _: extractor)
    monkeypatch.setattr("mudy.corpus.runner.model_fingerprints", lambda *_, **__: {})
    monkeypatch.setattr(runner, "REPORT_SECONDS", -1.0)
    files = [tmp_path / "a.txt", tmp_path / "b.txt"]
    for file in files:
        file.write_text(f"{small.TEXT} " * 60)
    told: list[corpus.Progress] = []
    corpus.run(files, tmp_path / "out.jsonl", method="promptrank", report=told.append)
    shares = [progress.share for progress in told]
    assert _rising(shares)
    first = [progress.share for progress in told if progress.rows == 0]
    second = [progress.share for progress in told if progress.rows == 1]
    assert len(first) > 3
    assert all(0 < share <= 0.5 for share in first)
    assert all(0.5 <= share <= 1 for share in second)


def _rising(values: Sequence[float]) -> bool:
    return list(values) == sorted(values)


def test_the_command_writes_csv(tmp_path: Path) -> None:
    source = jsonl(tmp_path / "in.jsonl", [{"text": text} for text in texts(3)])
    words = [sys.executable, "-m", "mudy", "corpus", str(source), str(tmp_path / "out.csv"), "-m", "yake"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert {line["id"] for line in table(tmp_path / "out.csv")} == {f"{source}:{i}" for i in (1, 2, 3)}
