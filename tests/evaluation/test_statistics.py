"""The figures of Table 1 on texts that can be counted by hand."""

import json
import math
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers
from click.testing import CliRunner, Result

from mudy.cli.data_commands import data_command
from mudy.engines import Compute
from mudy.engines.torch import Machine
from mudy.engines.torch.transformer import TorchEncoder
from mudy.evaluation.datasets import Dataset, Record, describe, is_noun_phrase, topic_drift, units
from mudy.reading.document import Span
from tests.small import TEXT, tokenizer
from tests.taggers import english

ICE = Record("ice", None, TEXT, ("radar maps", "River ice", "closing early", "hovercraft"))
SHORT = Record("short", None, "An ice road.", ("ice road",))
RIVERS = Dataset("rivers", "mudy", (ICE, SHORT))


@cache
def encoder(batch_tokens: int = 512) -> TorchEncoder:
    torch.manual_seed(7)
    shape = transformers.BertConfig(
        vocab_size=420,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=64,
        initializer_range=0.2,
    )
    machine = Machine.of(Compute("cpu", batch_tokens=batch_tokens))
    return TorchEncoder(transformers.BertModel(shape), tokenizer("decoder"), machine, "small-bert")


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(data_command, ["describe", *map(str, arguments)])


# -- Figures ----------------------------------------------------------------------------------------------------------


def test_words_sentences_keyphrases_and_shares_are_those_counted_by_hand() -> None:
    found = describe(RIVERS, english())
    assert (found.name, found.documents, found.problems) == ("rivers", 2, 0)
    assert found.words == (len(TEXT.split()) + 3) / 2
    assert found.sentences == (5 + 1) / 2
    assert found.keyphrases == 5 / 2
    assert found.absent == pytest.approx(100 * 2 / 5)  # closing early, hovercraft
    assert found.noun_phrases == pytest.approx(100 * 4 / 5)  # all but closing early
    assert found.drift is None


@pytest.mark.parametrize("phrase", ["radar map", "Deep Neural  Networks", "state-of-the-art model", "ice"])
def test_adjectives_and_nouns_that_end_in_a_noun_are_a_noun_phrase(phrase: str) -> None:
    assert is_noun_phrase(phrase, english())


@pytest.mark.parametrize("phrase", ["theory of games", "the map", "crossing the river", "map, radar", "quickly", "++"])
def test_other_phrases_are_none(phrase: str) -> None:
    assert not is_noun_phrase(phrase, english())


def test_progress_is_reported_after_each_document() -> None:
    seen: list[tuple[str, int, int]] = []
    describe(RIVERS, english(), progress=lambda *step: seen.append(step))
    assert seen == [("rivers", 1, 2), ("rivers", 2, 2)]


# -- Drift ------------------------------------------------------------------------------------------------------------


def test_units_are_three_sentences_each_and_hold_the_whole_text() -> None:
    first, second = units(english().document(TEXT))
    assert first.endswith("over the ice.")
    assert f"{first} {second}" == TEXT


def test_drift_is_one_minus_the_mean_cosine_of_all_pairs() -> None:
    document = english().document(f"{TEXT} {TEXT} Boats sail in summer. Trucks stop.")
    vectors = encoder().embed(list(units(document)))
    n = len(vectors)
    cosines = [float(vectors[i] @ vectors[j]) for i in range(n) for j in range(i)]
    assert n == 4
    assert topic_drift(document, encoder()) == pytest.approx(1 - sum(cosines) / len(cosines), abs=1e-6)


def test_a_text_that_repeats_itself_does_not_drift_and_one_of_a_single_unit_has_no_drift() -> None:
    assert topic_drift(english().document("River ice is thin. " * 9), encoder()) == pytest.approx(0, abs=1e-6)
    assert topic_drift(english().document(SHORT.text), encoder()) is None
    assert topic_drift(english().document(""), encoder()) is None


def test_the_drift_of_a_data_set_is_the_mean_over_texts_that_have_one() -> None:
    assert describe(RIVERS, english(), encoder()).drift == topic_drift(english().document(TEXT), encoder())


def test_an_embedding_is_the_mean_of_all_states_brought_to_length_one() -> None:
    ids = torch.tensor([tokenizer("decoder")(TEXT[:40])["input_ids"]])
    with torch.inference_mode():
        mean = encoder().model(input_ids=ids).last_hidden_state[0].mean(0)
    found = encoder().embed([TEXT[:40]])[0]
    assert np.allclose(found, (mean / mean.norm()).numpy(), atol=1e-6)
    assert math.isclose(float(np.linalg.norm(found)), 1, abs_tol=1e-6)


def test_an_embedding_depends_on_no_neighbour_and_a_long_text_is_cut() -> None:
    texts = ["Ice.", TEXT * 3, "A radar map guides trucks."]
    together, apart = encoder().embed(texts), np.concatenate([encoder(1).embed([text]) for text in texts])
    assert np.allclose(together, apart, atol=1e-5)
    assert encoder().embed([]).shape == (0, 32)


def test_span_states_are_as_before() -> None:
    assert encoder().span_states(TEXT, [Span(0, 5)], [Span(0, 18)]).shape == (1, 32)


# -- The command ------------------------------------------------------------------------------------------------------


@pytest.fixture
def rivers(tmp_path: Path) -> Path:
    rows = [{"id": r.id, "title": r.title, "text": r.text, "keyphrases": r.keyphrases} for r in RIVERS.documents]
    path = tmp_path / "rivers.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows) + "{\n" * 7)
    return path


def test_the_command_prints_a_row_for_each_data_set_and_names_bad_rows(rivers: Path) -> None:
    found = run(rivers, rivers, "--no-drift")
    assert found.exit_code == 0
    head, *rows = found.stdout.splitlines()
    assert "Noun phrases %" in head
    assert [row.split() for row in rows] == [["rivers", "2", "18", "3", "2.5", "40.0", "80.0", "–"]] * 2
    assert "rivers.jsonl:3: not JSON" in found.stderr
    assert "rivers: 2 more rows could not be used" in found.stderr
    assert run(rivers, "--no-drift", "-q").stderr == ""


def test_the_command_writes_json(rivers: Path) -> None:
    (found,) = json.loads(run(rivers, "--no-drift", "--limit", "1", "-f", "json").stdout)
    assert (found["documents"], found["absent"], found["drift"], found["problems"]) == (1, 50.0, None, 0)


def test_a_path_that_cannot_be_read_is_named_and_the_others_are_described(rivers: Path) -> None:
    found = run(rivers.parent / "nowhere", rivers, "--no-drift")
    assert found.exit_code == 1
    assert "no such file" in found.stderr
    assert "rivers" in found.stdout


def test_an_unknown_form_is_wrong_usage(rivers: Path) -> None:
    found = run(rivers, "--form", "wikhow")
    assert found.exit_code == 2
    assert "Did you mean 'wikihow'" in found.stderr


@pytest.mark.real
def test_the_real_encoder_sees_a_change_of_topic() -> None:
    from mudy import engines, models

    real = engines.load_encoder(models.locate("minilm-l6"), Compute("cpu", threads=1), "minilm-l6")
    other = "The bank raised its interest rate. Bond yields rose. Investors sold shares."
    steady = topic_drift(english().document(TEXT), real)
    moving = topic_drift(english().document(f"{TEXT} {other}"), real)
    assert steady is not None
    assert moving is not None
    assert steady < moving < 1
