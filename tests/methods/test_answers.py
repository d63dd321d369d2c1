"""Phrases read from what a chat model writes, in whatever shape."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mudy.methods.empirical import comparison_key, parse_phrases, standing
from mudy.reading.candidates import candidates
from tests.taggers import MIXED, ODD, english

TEXT = (
    "The state-of-the-art flood model of the U.S. agency failed. Hydrologists’ maps show flood walls, beaver dams and "
    "new wetlands. A support vector machine (SVM) reads the maps. Flood walls alone fail."
)


@pytest.mark.parametrize(
    "answer",
    [
        "Keyphrases: flood walls; beaver dams; new wetlands",
        "keyphrases:flood walls ;beaver dams ;  new wetlands.",
        "KEYPHRASES: Flood Walls; flood walls; beaver dams; new wetlands; BEAVER DAMS;",
        "Sure! Here they are.\n\n**Keyphrases:** flood walls; beaver dams; and new wetlands",
        "Keyphrases: a draft; of mine\n\nKeyphrases: flood walls; beaver dams; new wetlands\n\nKeyphrases: ",
        "Keyphrases: flood walls; beaver dams;\nnew wetlands",
        "Keyphrases:\n1. flood walls\n2. beaver dams\n3. new wetlands\n",
        "Here are the keyphrases:\n\n1) flood walls\n2) beaver dams\n3) new wetlands",
        "- flood walls\n- beaver dams\n- new wetlands",
        "* **flood walls**\n* **beaver dams**\n* **new wetlands**",
        "• “flood walls”\n• ‘beaver dams’\n• `new wetlands`",
        "1. **Flood walls**: they protect the town; not always.\n2. **Beaver dams**\n3. **New wetlands** - wet land",
        "1. flood walls - concrete ones\n2. beaver dams: of wood\n3. new wetlands (since 2019)",
        "Keyphrases: 1. flood walls; 2. beaver dams; 3. new wetlands",
        "Keyphrases: flood walls, beaver dams, and new wetlands",
        "flood walls, beaver dams, new wetlands",
        "flood walls\nbeaver dams\nnew wetlands",
        '["flood walls", "beaver dams", "new wetlands"]',
        '```json\n{"keyphrases": ["flood walls", "beaver dams", "new wetlands"]}\n```',
        'Keyphrases: ["flood walls", 3, null, "beaver dams", "new wetlands"]',
        '```\nKeyphrases: "flood walls"; "beaver dams"; "new wetlands".\n```',
        "<think>Keyphrases: say maps; dams?</think>\nKeyphrases: flood walls; beaver dams; new wetlands",
        "Keyphrases: flood\twalls; beaver  dams; new\u00a0wetlands…",
        "I'm sorry for the delay. Keyphrases: flood walls; beaver dams; new wetlands",
        "Keyphrase candidates: flood walls ; beaver dams ; new wetlands",
        'Here they are:\n\n- Keyphrase: "Flood walls."\n- Keyphrase: "Beaver dams."\n- Phrase 3: new wetlands',
        "Keyphrase: flood walls; beaver dams; new wetlands",
        "Key phrases: flood walls；beaver dams；new wetlands",
    ],
)
def test_three_phrases_are_read_from_many_shapes_of_answers(answer: str) -> None:
    phrases = ["flood walls", "beaver dams", "new wetlands"]
    known = {comparison_key(p) for p in phrases}
    assert [p.lower() for p in parse_phrases(answer) if comparison_key(p) in known] == phrases
    assert {comparison_key(p) for p in parse_phrases(answer)} - known <= {"sure! here they are", "not always"}


@pytest.mark.parametrize("phrase", ["Sorry state", "nonetheless", "3.5 GHz", "C++", "AT&T", "U.S. agency", "2-3 trees"])
def test_phrases_that_look_like_something_else_are_kept_whole(phrase: str) -> None:
    assert parse_phrases(f"Keyphrases: {phrase}; other") == [phrase, "other"]


ANSWERS = st.lists(
    st.one_of(
        st.sampled_from(
            ["Keyphrases: ", ";", "; ", "\n", "\n1. ", "\n- ", "**", '"', "[", "]", ", ", "```", ": ", "."]
        ),
        st.sampled_from(TEXT.split()),
        MIXED,
        ODD,
    ),
    max_size=20,
).map("".join)


@settings(max_examples=300)
@given(ANSWERS, st.one_of(st.just(TEXT), MIXED), st.booleans())
@example("Keyphrases: \ud800; x\x00", "x \ud800 \x00", False)
@example("Keyphrases: STRASSE; ΟΔΟΣ", "Die Straße und οδος", False)
def test_whatever_is_written_what_comes_back_stands_in_the_text(answer: str, text: str, strict: bool) -> None:
    read = english().document(text)
    written = parse_phrases(answer)
    kept, dropped = standing(read, candidates(read), written, strict)
    assert len(kept) + len(dropped) == len(written)
    assert len({comparison_key(phrase) for phrase in written}) == len(written)
    for candidate in kept:
        assert candidate.occurrences
        for occurrence in candidate.occurrences:
            form = occurrence.span.of(text)
            assert comparison_key(form) == comparison_key(candidate.phrase)
            assert read.sentences[occurrence.sentence].start <= occurrence.span.start
