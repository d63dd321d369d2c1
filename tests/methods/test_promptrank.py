"""PromptRank: likelihood, with and without the position penalty."""

import pytest

from mudy.methods.mudy import Mudy
from mudy.methods.promptrank import PromptRank, prompt_likelihood
from mudy.reading.candidates import candidates
from mudy.reading.document import Span
from tests import oracle, small
from tests.taggers import english


def test_the_likelihood_is_divided_by_a_power_of_the_number_of_scored_tokens() -> None:
    assert prompt_likelihood([-1.0, -2.0, -3.0, -2.0], alpha=0.5) == pytest.approx(-8 / 4**0.5)
    assert prompt_likelihood([-1.0, -2.0, -3.0, -2.0], alpha=1.0, tokens="candidate") == pytest.approx(-2.5)


@pytest.mark.parametrize("family", [*small.DECODERS, "t5"])
def test_phrases_score_as_in_one_forward_pass_each(family: str) -> None:
    backbone = small.t5() if family == "t5" else small.decoder(family)
    document = english().document(small.TEXT)
    found = candidates(document)
    whole = Span(0, document.sentences[-1].end)
    for score in PromptRank(backbone, position_penalty=False).score(document, found):
        form = found[score.candidate].occurrences[0].span.of(document.text)
        expected = oracle.likelihood(backbone, document.text, whole, form, None, Mudy(backbone))
        assert score.score == pytest.approx(expected, abs=1e-4)


def test_without_weighting_and_attention_mudy_is_promptrank_without_penalty() -> None:
    backbone = small.decoder("llama")
    document = english().document(small.TEXT.lower())
    found = candidates(document)
    plain = PromptRank(backbone, position_penalty=False).score(document, found)
    bare = Mudy(backbone, weighting=False, attention="none").score(document, found)
    assert [s.score for s in plain] == pytest.approx([s.score for s in bare], abs=1e-5)


def test_the_penalty_is_position_over_length_plus_gamma_over_its_cube() -> None:
    document = english().document("The ice is thin. A radar map helps.")  # eight words; "radar" is the seventh token
    found = candidates(document)
    scored = PromptRank(small.decoder("llama"), gamma=10.0).score(document, found)
    by_phrase = {found[s.candidate].phrase: s for s in scored}
    for phrase, position in (("ice", 1), ("radar map", 6)):
        score = by_phrase[phrase]
        assert score.score == pytest.approx(score.parts["p"] * (position / 8 + 10 / 8**3))


def test_a_long_document_is_scored_section_by_section() -> None:
    document = english().document(" ".join([small.TEXT] * 9))
    found = candidates(document)
    scored = PromptRank(small.decoder("llama"), section_tokens=96).score(document, found)
    assert len(scored) == sum(len(c.occurrences) for c in found)
    assert len({s.section for s in scored}) > 3
