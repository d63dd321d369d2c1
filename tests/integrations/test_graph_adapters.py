"""The adapters of docs/concept-graph.md and docs/search.md, run as they stand. Run by `make test-integrations`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mudy import corpus
from tools.doc_blocks import ROOT, blocks_of

pytestmark = [pytest.mark.heavy_package, pytest.mark.real, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("graph")
    (place / "examples").symlink_to(ROOT / "examples")
    tickets = ROOT / "examples" / "tickets.jsonl"
    corpus.run(tickets, place / "out.jsonl", speed="quick", options={"top_n": 6}, graph=place / "graph.json")
    return place


Run = Callable[[str, str], dict[str, Any]]


@pytest.fixture
def run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the block of a page that imports something, and give its names."""
    monkeypatch.chdir(folder)

    def found(page: str, mention: str) -> dict[str, Any]:
        (block,) = [b for b in blocks_of(ROOT / "docs" / page) if mention in b.code and b.kind == "python"]
        names: dict[str, Any] = {"__name__": "__main__"}
        exec(compile(block.code, str(block), "exec"), names)
        return names

    return found


def test_llama_index_has_every_edge_of_the_graph(run: Run, folder: Path) -> None:
    triplets = run("concept-graph.md", "SimplePropertyGraphStore")["triplets"]
    edges = json.loads((folder / "graph.json").read_text())["edges"]
    expected = {(e["source"], e["target"]) for e in edges if "battery drain" in (e["source"], e["target"])}
    assert {(source.id, target.id) for source, _, target in triplets} == expected
    assert len(expected) > 3


def test_graphrags_tables_have_the_columns_of_its_schema(run: Run) -> None:
    names = run("concept-graph.md", "combined_degree")
    schemas = _graphrag_schemas()
    assert list(names["entities"]) == schemas["ENTITIES_FINAL_COLUMNS"]
    assert list(names["relationships"]) == schemas["RELATIONSHIPS_FINAL_COLUMNS"]
    assert names["relationships"]["weight"].between(0, 1).all()
    assert set(names["relationships"]["source"]) <= set(names["entities"]["title"])


def _graphrag_schemas() -> dict[str, Any]:
    """The module with the names of columns, without the rest of GraphRAG, which needs many packages."""
    import runpy
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        path = distribution("graphrag").locate_file("graphrag/data_model/schemas.py")
    except PackageNotFoundError:
        pytest.skip("graphrag is not installed: pip install --no-deps graphrag")
    return runpy.run_path(str(path))


def test_lightrag_takes_keyphrases_as_keywords(run: Run) -> None:
    pytest.importorskip("lightrag", reason="lightrag-hku is not installed", exc_type=ImportError)
    param = run("concept-graph.md", "QueryParam")["param"]
    assert "battery" in " ".join(param.ll_keywords).lower()


def test_nodes_of_llama_index_keep_keyphrases_out_of_what_is_encoded(run: Run) -> None:
    names = run("search.md", "MockEmbedding")
    mode = names["MetadataMode"]
    assert all("excerpt_keywords" in node.get_content(mode.LLM) for node in names["nodes"])
    assert all(
        node.get_content(mode.EMBED) == row["text"] for node, row in zip(names["nodes"], names["rows"], strict=True)
    )
