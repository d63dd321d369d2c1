"""A run belongs to its models, by all that is in their files; and what is no run is never thrown away."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from mudy import InputError, corpus
from mudy._support.storage import output_lock
from mudy.cli.main import cli
from mudy.evaluation.datasets import Dataset, Record, load
from mudy.evaluation.experiment import evaluate
from mudy.evaluation.runs import JudgedDocument, Run, RunFile
from mudy.extraction.extractor import Extractor
from mudy.extraction.run_identity import model_fingerprints
from mudy.methods.mudyplus.weights import load_weights
from tests import small
from tests.small import TEXT

RECORDS = tuple(Record(f"d{i}", None, f"{TEXT} The {word} sank.", ("river ice",)) for i, word in enumerate("abcd"))
RIVERS = Dataset("rivers", "mudy", RECORDS)
FEW = Dataset("rivers", "mudy", RECORDS[:2])


def command(*arguments: object) -> Result:
    return CliRunner().invoke(cli, [str(argument) for argument in arguments])


@pytest.fixture
def models(tmp_path: Path) -> dict[str, Path]:
    """A language model and an encoder, in folders of their own."""
    made: dict[str, Any] = {"model": small.decoder("llama"), "encoder": small.bert()}
    for name, model in made.items():
        model.model.save_pretrained(tmp_path / name)
        model.tokenizer.save_pretrained(tmp_path / name)
    return {name: tmp_path / name for name in made}


def change(folder: Path) -> None:
    """Change a weight, and leave the file's size and time as they are."""
    path = folder / "model.safetensors"
    before, data = path.stat(), bytearray(path.read_bytes())
    data[-5] ^= 0x01
    path.write_bytes(data)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def extractor(models: dict[str, Path], method: str) -> Extractor:
    named: Any = {name: str(folder) for name, folder in models.items()}
    return Extractor(method, protocol="promptrank", threads=1, **named)


@pytest.mark.parametrize(("method", "changed"), [("samrank", "model"), ("embedrank", "encoder"), ("mudy", "encoder")])
def test_a_run_is_not_mixed_of_two_models_of_one_name(
    models: dict[str, Path], tmp_path: Path, method: str, changed: str
) -> None:
    output = tmp_path / "run.json"
    first = evaluate(extractor(models, method), [FEW], output)
    assert str(models[changed]) in first.used["models"]
    before = output.read_bytes()
    change(models[changed])
    for data in (RIVERS, FEW):  # with documents that are still to be computed, and with none
        with pytest.raises(InputError, match=rf"models\.{models[changed]} was '\w+', now '\w+'"):
            evaluate(extractor(models, method), [data], output)
    assert output.read_bytes() == before
    assert len(evaluate(extractor(models, method), [RIVERS], output, restart=True).documents) == 4


def test_a_run_is_not_mixed_of_two_files_of_weights_of_one_name(models: dict[str, Path], tmp_path: Path) -> None:
    weights, output = tmp_path / "mine.json", tmp_path / "run.json"
    named: Any = {"encoder": str(models["encoder"]), "weights": str(weights), "speed": "quick"}
    weights.write_text(json.dumps(load_weights().to_dict()))
    evaluate(Extractor(**named), [FEW], output)
    weights.write_text(json.dumps({**load_weights().to_dict(), "full": None}))
    with pytest.raises(InputError, match=rf"models\.{weights} was '\w+', now '\w+'"):
        evaluate(Extractor(**named), [RIVERS], output)


def test_a_corpus_is_not_mixed_of_two_models_of_one_name(models: dict[str, Path], tmp_path: Path) -> None:
    source = tmp_path / "in.jsonl"
    source.write_text(json.dumps({"text": TEXT}) + "\n")
    options: Any = {"method": "mudy", "threads": 1, **{name: str(folder) for name, folder in models.items()}}
    corpus.run(source, tmp_path / "out.jsonl", **options)
    change(models["encoder"])
    with pytest.raises(InputError, match=rf"models\.{models['encoder']} was"):
        corpus.run(source, tmp_path / "out.jsonl", **options)


def test_a_run_whose_model_is_gone_can_still_be_read(models: dict[str, Path], tmp_path: Path) -> None:
    output = tmp_path / "run.json"
    made = extractor(models, "samrank")
    run = evaluate(made, [FEW], output)
    models["model"].rename(tmp_path / "elsewhere")
    assert evaluate(made, [FEW], output).documents == run.documents


def test_a_method_without_a_model_has_none_in_its_run() -> None:
    assert evaluate(Extractor("yake", protocol="promptrank"), [FEW]).used["models"] == {}


# -- What restart may delete ------------------------------------------------------------------------------------------


@pytest.fixture
def rivers(tmp_path: Path) -> Path:
    path = tmp_path / "rivers.jsonl"
    rows = [{"id": r.id, "text": r.text, "keyphrases": list(r.keyphrases)} for r in RECORDS]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize("link", ["same", "hard", "symbolic"])
def test_a_data_set_is_never_the_output(rivers: Path, tmp_path: Path, link: str) -> None:
    output = rivers if link == "same" else tmp_path / "run.json"
    if link == "hard":
        output.hardlink_to(rivers)
    if link == "symbolic":
        output.symlink_to(rivers)
    before = rivers.read_bytes()
    for restart in ((), ("--restart",)):
        found = command("evaluate", rivers, "-m", "yake", "-o", output, *restart)
        assert found.exit_code == 1
        assert "would be overwritten" in found.stderr
    assert rivers.read_bytes() == before


@pytest.mark.parametrize("name", ["run.json", "run.json.journal"])
@pytest.mark.parametrize("content", ["", "precious", "[1]\n", '{"format": 1}\n', "a,b\n1,2\n", '{"a": 1}'])
def test_restart_throws_nothing_away_that_is_no_run(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=r"not a (run|journal)") as refused:
        evaluate(Extractor("yake", protocol="promptrank"), [RIVERS], tmp_path / "run.json", restart=True)
    assert (tmp_path / name).read_text() == content
    assert "--restart" not in str(refused.value)


def test_the_output_is_written_through_a_link_and_locked_by_its_place(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    link = tmp_path / "run.json"
    link.symlink_to(tmp_path / "store" / "real.json")
    evaluate(Extractor("yake", protocol="promptrank"), [FEW], link)
    assert link.is_symlink()
    assert len(Run.load(tmp_path / "store" / "real.json").documents) == 2
    with output_lock(tmp_path / "store" / "real.json"), pytest.raises(InputError, match="another run is writing"):
        evaluate(Extractor("yake", protocol="promptrank"), [RIVERS], link)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run.json", "store"]


def test_a_damaged_line_of_the_journal_costs_its_document_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = evaluate(Extractor("yake", protocol="promptrank"), [RIVERS], tmp_path / "whole.json")
    file = RunFile(tmp_path / "run.json")
    file.begin(whole)
    lines = file.journal.read_bytes().splitlines(keepends=True)
    lines[2] = lines[2][:40] + b"\n"
    lines.insert(4, b'{"not": "a document"}\n')
    file.journal.write_bytes(b"".join(lines))
    computed: list[str] = []

    def judged(**row: Any) -> JudgedDocument:
        computed.append(row["id"])
        return JudgedDocument(**row)

    monkeypatch.setattr("mudy.evaluation.experiment.JudgedDocument", judged)
    again = evaluate(Extractor("yake", protocol="promptrank"), [RIVERS], file.path)
    assert computed == ["d1"]
    assert [document.phrases for document in again.documents] == [document.phrases for document in whole.documents]


# -- All data sets before any -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [("missing.jsonl", "rivers.jsonl"), ("rivers.jsonl", "missing.jsonl")])
def test_nothing_is_computed_unless_all_data_sets_are_there(
    rivers: Path, monkeypatch: pytest.MonkeyPatch, order: tuple[str, str]
) -> None:
    monkeypatch.chdir(rivers.parent)
    monkeypatch.setattr("mudy.extraction.extractor.Extractor.extract", lambda *_, **__: pytest.fail("it has begun"))
    found = command("evaluate", *order, "-m", "yake", "-o", "run.json")
    assert found.exit_code == 1
    assert "missing.jsonl: no such file" in found.stderr
    assert "Nothing was computed" in found.stderr
    assert found.stdout == ""
    assert not Path("run.json").exists()


def test_a_data_set_can_still_be_loaded_by_itself(rivers: Path) -> None:
    assert len(load(rivers).documents) == 4


@pytest.mark.real
def test_a_model_that_is_not_asked_is_neither_fetched_nor_part_of_a_run() -> None:
    assert model_fingerprints(Extractor("mudy", "smollm2-135m")).keys() == {"smollm2-135m"}
    assert model_fingerprints(Extractor("mudy", "smollm2-135m", mixture=True)).keys() == {"smollm2-135m", "minilm-l6"}
