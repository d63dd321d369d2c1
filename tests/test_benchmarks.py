"""The benchmarks measure what they say: the obvious way is the method, and what is counted and fitted is right."""

import json
import math
import subprocess
import sys
from argparse import Namespace
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

from benchmarks import QUESTIONS, growth, measure, obvious, peers, report, speeds, texts, throughput
from benchmarks.charts import Point, scatter
from benchmarks.flops import counted, visible_pairs
from benchmarks.plainly import Plainly
from mudy.extraction.ranking import rank
from mudy.methods.mudy import RECOMMENDED, Mudy
from mudy.reading.candidates import candidates
from tests import small
from tests.served import until
from tests.taggers import english

KINDS = {"gemma3": ("gemma3_text", 18), "llama": ("llama", 30)}  # small ones in the place of those that we embed
SHARP = {"unit": 6.0, "sam_layers": (1,), "k_attn": 3, "kappa": 0.4, "sigma": 0.5}  # for a text of 100 tokens


def method(kind: str, **settings: Any) -> Mudy:
    return Mudy(small.decoder(kind), **{**RECOMMENDED[KINDS[kind]], **SHARP, **settings})


def plainly(kind: str, mudy: Mudy, batch: int = 4) -> Plainly:
    torch.manual_seed(7)  # the weights of small.decoder
    model = transformers.AutoModelForCausalLM.from_config(small.config(kind))
    return Plainly(model, small.tokenizer("decoder"), mudy, batch)


# -- The obvious way --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sliding", [True, False])
def test_the_obvious_way_scores_every_occurrence_as_the_library_does(kind: str, sliding: bool) -> None:
    document = english().document(small.TEXT)
    found = candidates(document)
    mudy = method(kind, weight_sliding=sliding)
    scored, expected = mudy.score(document, found), plainly(kind, mudy).score(document, found)
    assert [s.occurrence for s in scored] == [e.occurrence for e in expected]
    for ours, plain in zip(scored, expected, strict=True):
        assert [ours.score, ours.parts["p"], ours.parts["G"]] == pytest.approx(
            [plain.score, plain.parts["p"], plain.parts["G"]], abs=1e-4
        )
    first, second = ([k.text for k in rank(document.text, found, scores)] for scores in (scored, expected))
    assert first == second


def test_in_the_obvious_way_occurrences_share_nothing() -> None:
    document = english().document(small.TEXT)
    found = candidates(document)
    mudy = method("gemma3")
    alone, together = plainly("gemma3", mudy, batch=1), plainly("gemma3", mudy, batch=100)
    section = alone.section(document, found)
    some = [5, 2, 7]
    assert alone.likelihoods(document, section, some) == pytest.approx(
        together.likelihoods(document, section, some), abs=1e-4
    )


def test_where_two_ways_disagree_a_third_is_asked_in_double_precision() -> None:
    document = english().document(small.TEXT)
    found = candidates(document)
    mudy = method("llama")
    plain = plainly("llama", mudy)
    task = obvious.Task("a", document, found, plain.section(document, found), ())
    expected = plain.score(document, found)
    wrong = replace(expected[2], parts={**expected[2].parts, "p": -1.0})
    assert obvious.disputes(task, expected, expected, plain.in_double) == []
    (dispute,) = obvious.disputes(task, [*expected[:2], wrong, *expected[3:]], expected, plain.in_double)
    assert dispute["ours"] == -1.0
    assert dispute["float64"] == pytest.approx(dispute["obvious"], abs=1e-4)


def test_the_obvious_way_refuses_settings_that_it_does_not_have() -> None:
    with pytest.raises(ValueError, match="attention is 'GxL'"):
        plainly("llama", method("llama", attention="GxL"))


def test_two_rankings_are_compared_rank_by_rank() -> None:
    same = obvious.agreement(["a", "b", "c"], ["a", "b", "c"])
    assert same == {"phrases": 3, "top_agrees": True, "same_rank": 3, "farthest": 0}
    turned = obvious.agreement(["a", "b", "c"], ["c", "b", "a"])
    assert (turned["top_agrees"], turned["same_rank"], turned["farthest"]) == (False, 1, 2)


# -- Counting ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_the_operations_of_a_stock_model_are_counted_as_by_hand(kind: str) -> None:
    shape, tokens = small.config(kind), 40
    model = transformers.AutoModel.from_config(shape, attn_implementation="sdpa").eval()
    with torch.inference_mode():
        done = counted(lambda: model(torch.zeros(1, tokens, dtype=torch.long), use_cache=False))
    weights = sum(p.numel() for p in model.layers.parameters() if p.dim() == 2)
    sees = [24 if kind == "gemma3" and layer % 2 == 0 else tokens for layer in range(4)]  # a sliding layer, a full one
    pairs = sum(min(row + 1, far) for far in sees for row in range(tokens))
    assert done == 2 * tokens * weights + 2 * 2 * pairs * shape.num_attention_heads * shape.head_dim


def test_attention_that_is_hidden_is_not_counted() -> None:
    query = torch.zeros(1, 2, 3, 4)
    assert visible_pairs(query, query, is_causal=True, mask=None) == 2 * 6
    assert visible_pairs(query, query, is_causal=False, mask=None) == 2 * 9
    hidden = torch.zeros(3, 3).masked_fill(torch.ones(3, 3).triu(1).bool(), -torch.inf)
    assert visible_pairs(query, query, is_causal=False, mask=hidden) == 2 * 6

    def attend() -> None:
        torch.nn.functional.scaled_dot_product_attention(query, query, query, is_causal=True)

    assert counted(attend) == 2 * 6 * 2 * (4 + 4)


# -- Measuring and fitting --------------------------------------------------------------------------------------------


def test_repeats_are_interleaved_and_every_other_round_goes_backwards() -> None:
    order: list[str] = []
    costs = measure.interleaved({"a": lambda: order.append("a"), "b": lambda: order.append("b")}, 3)
    assert order == ["a", "b", "b", "a", "a", "b"]
    assert all(cost.wall >= 0 and cost.cpu >= 0 for cost in costs.values())
    assert measure.middle([measure.Cost(1, 5), measure.Cost(9, 2), measure.Cost(3, 4)]) == measure.Cost(3, 4)


def test_a_line_and_a_power_are_fitted() -> None:
    slope, start, r2 = growth.straight_line([1, 2, 4], [5, 7, 11])
    assert (slope, start, r2) == pytest.approx((2, 3, 1))
    assert growth.straight_line([0, 1, 2], [0, 1, 0])[2] == pytest.approx(0)
    assert growth.exponent([10, 100, 1000], [3 * x**1.5 for x in (10, 100, 1000)]) == pytest.approx(1.5)
    with pytest.raises(ValueError, match="two different points"):
        growth.straight_line([1, 1], [2, 3])


def test_a_long_text_has_the_length_asked_for_and_holds_every_text_in_another_order() -> None:
    text = texts.of_length(9000)
    assert len(text.split()) == 9000
    assert text.startswith(texts.of_length(200))
    titles = [known.text.partition("\n")[0] for known in texts.read()]
    order = [line for line in text.splitlines() if line in titles]
    assert sorted(order[: len(titles)]) == sorted(titles)
    assert order[: len(titles)] != titles


def test_short_texts_are_pieces_of_ours_of_the_length_asked_for_and_no_two_alike() -> None:
    cut = texts.pieces(150, 24)
    assert len(set(cut)) == 24
    assert {len(piece.split()) for piece in cut} == {150}
    assert all(100 <= len(text.split()) <= 700 for text in texts.mixed(30))


def test_the_memory_of_a_process_is_looked_at_while_it_works() -> None:
    command = [sys.executable, "-c", "import sys; sys.stdin.read()"]
    with throughput.watched_memory() as looks, subprocess.Popen(command, stdin=subprocess.PIPE) as child:
        until(lambda: max(looks.get(child.pid, [0.0])) > 1)


def test_what_speeds_measures_is_told_with_the_ratio_of_two_threads() -> None:
    spent = {f"mudyplus {speed}": 1.0 for speed in speeds.SPEEDS}
    figures = {"texts": 1, "words": 700, "repeats": 1, "cpu": spent, "wall": {"mudyplus fast": [0.6, 0.4]}}
    assert "fast 1.50 times as fast" in speeds.answer(figures)
    assert "| mudyplus fast | 0.600 | 0.400 | 1.50 |" in speeds.tell(figures)


def test_every_gold_phrase_stands_on_a_line_of_its_own() -> None:
    known = texts.read()
    assert known
    assert all(text.gold and text.text.partition("\n\n")[2] for text in known)


# -- Reporting --------------------------------------------------------------------------------------------------------

LENGTHS = [
    {"words": w, "occurrences": w / 4, "sections": 1, "cpu": w / 100, "wall": w / 100, "tagging": 0.1}
    | {"memory_gb": 2.0, "memory_before_gb": 1.5}
    for w in (250, 1000, 50_000)
]
CROWD = [{"phrases": n, "occurrences": 2 * n, "cpu": 1 + n / 10} for n in (25, 50)]
GROWN = {"repeats": 3, "threads": 1, "fixed_words": 1400, "models": {"m": {"lengths": LENGTHS, "phrases": CROWD}}}


def test_a_section_is_written_from_its_figures_and_the_report_from_its_sections(tmp_path: Path) -> None:
    machine = {"model": "P", "processor": "x", "instructions": "AVX", "cores": 2, "physical_cores": 2, "caches": {}}
    machine |= {"memory_gb": 8, "system": "Linux", "python": "3", "versions": {"torch": "2"}}
    answer = {"command": "python -m benchmarks.growth", "quick": False, "load_before": 0.1, "machine": machine}
    report.save(tmp_path, "growth", {**answer, "figures": GROWN})
    report.write(tmp_path, "growth")
    report.readme(tmp_path)
    page = (tmp_path / "README.md").read_text()
    assert "to the power 1.00" in page
    assert "1.00 times" in " ".join(page.split())
    picture = growth.chart(GROWN)
    assert f"(results/{picture})" in page
    assert "| 50,000 | 12,500 |" in page
    assert "Processor: P" in page
    assert "smoke run" not in page
    assert (tmp_path / "results" / picture).read_bytes().startswith(b"\x89PNG")
    assert json.loads((tmp_path / "results" / "growth.json").read_text())["figures"] == GROWN


def test_sections_stand_in_the_order_of_the_questions_and_variants_behind_their_question(tmp_path: Path) -> None:
    for name in ("obvious", "peers-public-data", "peers", "speeds"):
        report.save(tmp_path, name, {})
    assert report.sections(tmp_path) == ["speeds", "peers", "peers-public-data", "obvious"]
    assert report.heading("peers-public-data") == f"{peers.QUESTION.title} (public data)"


def test_a_command_names_no_folder_of_ours() -> None:
    made = report.command("peers", ["--data", "/home/me/sets", "--limit", "5", "--output", "/tmp/x"])
    assert made == "python -m benchmarks.peers --data DIR --limit 5 --output DIR"


def test_a_smoke_run_is_not_written_where_measurements_are() -> None:
    assert report.folder_of(Namespace(quick=True, output=None)) != report.folder_of(Namespace(quick=False, output=None))


@pytest.mark.parametrize("name", QUESTIONS)
def test_every_question_says_what_it_asks(name: str) -> None:
    question = report.asked_by(name)
    assert question.name == name
    assert question.title.endswith("?")


def test_names_of_points_do_not_cover_one_another(monkeypatch: pytest.MonkeyPatch) -> None:
    from matplotlib.axes import Axes

    boxes: list[Any] = []
    plain = Axes.text

    def text(self: Axes, *where: Any, **more: Any) -> Any:
        boxes.append((made := plain(self, *where, **more), self))
        return made

    monkeypatch.setattr(Axes, "text", text)
    points = [Point(f"method {i}, some model", 10 ** (i % 4 / 9), 30 + i % 3 / 2, "ours") for i in range(20)]
    assert scatter(points, xlabel="x", ylabel="y").startswith(b"\x89PNG")
    drawn = [made.get_window_extent() for made, _ in boxes]
    assert not any(a.overlaps(b) for i, a in enumerate(drawn) for b in drawn[:i])


def test_our_own_texts_are_judged_by_our_own_measure() -> None:
    system = peers.System("one", peers.OTHERS, peers.of_a_package(lambda text: text.split()[:3]))
    data = texts.dataset([texts.Text("a", "oil spill tanker in the sea", ("Oil", "harbour"))])
    (row,) = peers.measured([system], data, repeats=2)
    assert row["texts"] == 1
    assert row["f1"]["5"] == pytest.approx(100 * 2 / 5)
    assert math.isfinite(row["cpu"])
