"""The spaCy component, with the real spaCy and the real tagger."""

import pickle
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import spacy
from spacy.tokens import Doc, DocBin

from mudy import Extractor, InputError, SettingError
from mudy.integrations.spacy import KeyphraseComponent
from mudy.reading.languages import installed
from mudy.reading.tagging import document_of_doc
from tests.integrations.texts import PARAGRAPHS, TEXT

ENGLISH = installed("en") or ""


@cache
def pipeline() -> Any:
    nlp = spacy.load(ENGLISH, exclude=["ner", "lemmatizer"])
    nlp.add_pipe("mudy", config={"method": "yake", "top_n": 5})
    return nlp


def texts_of(doc: Doc) -> list[str]:
    return [keyphrase.text for keyphrase in doc._.keyphrases]


def test_the_component_is_found_by_its_name_alone() -> None:
    assert "mudy" in spacy.util.registry.factories
    assert isinstance(spacy.blank("en").add_pipe("mudy"), KeyphraseComponent)


def test_a_doc_has_the_keyphrases_that_an_extractor_with_the_same_pipeline_finds() -> None:
    tagger = spacy.load(ENGLISH, exclude=["ner", "lemmatizer"])
    wanted = Extractor("yake", language=tagger).extract(TEXT, top_n=5)
    assert pipeline()(TEXT)._.keyphrases == list(wanted)


def test_spans_stand_where_the_keyphrases_do() -> None:
    doc = pipeline()(TEXT)
    places = [(o.start, o.end) for keyphrase in doc._.keyphrases for o in keyphrase.occurrences]
    assert [(span.start_char, span.end_char) for span in doc.spans["mudy"]] == places
    assert {span.label_ for span in doc.spans["mudy"]} == {"KEYPHRASE"}


def test_phrases_have_the_shape_of_pytextrank() -> None:
    doc = pipeline()(TEXT)
    phrase = doc._.phrases[0]
    assert (phrase.text, phrase.rank) == (doc._.keyphrases[0].text, doc._.keyphrases[0].score)
    assert phrase.count == len(phrase.chunks) == len(doc._.keyphrases[0].occurrences)
    assert all(chunk.doc is doc and chunk.text.lower() == phrase.text.lower() for chunk in phrase.chunks)


def test_many_texts_give_what_each_gives_alone() -> None:
    assert [texts_of(doc) for doc in pipeline().pipe(PARAGRAPHS)] == [texts_of(pipeline()(p)) for p in PARAGRAPHS]


@pytest.mark.filterwarnings("ignore:This process.*multi-threaded:DeprecationWarning")
def test_two_processes_give_the_same_as_one() -> None:
    alone = [(texts_of(doc), [s.text for s in doc.spans["mudy"]]) for doc in pipeline().pipe(PARAGRAPHS)]
    together = pipeline().pipe(PARAGRAPHS, n_process=2, batch_size=2)
    assert [(texts_of(doc), [s.text for s in doc.spans["mudy"]]) for doc in together] == alone


def test_keyphrases_travel_with_a_doc_in_bytes() -> None:
    doc = pipeline()(TEXT)
    stored = DocBin(["TAG"], store_user_data=True, docs=[doc])
    for copy in (
        Doc(doc.vocab).from_bytes(doc.to_bytes()),
        pickle.loads(pickle.dumps(doc)),
        *stored.get_docs(doc.vocab),
    ):
        assert copy._.keyphrases == doc._.keyphrases
        assert [phrase.text for phrase in copy._.phrases] == [phrase.text for phrase in doc._.phrases]


def test_a_pipeline_keeps_its_settings_on_disk(tmp_path: Path) -> None:
    pipeline().to_disk(tmp_path)
    assert texts_of(spacy.load(tmp_path)(TEXT)) == texts_of(pipeline()(TEXT))


def test_a_component_can_be_pickled() -> None:
    component = pipeline().get_pipe("mudy")
    assert pickle.loads(pickle.dumps(component)).settings == component.settings


def test_the_tags_of_the_doc_decide_and_nothing_is_tagged_again() -> None:
    words = ["Beaver", "dams", "slow", "rivers", "."]
    component = spacy.blank("en").add_pipe("mudy", config={"method": "yake"})

    def found(tags: list[str]) -> set[str]:
        return set(texts_of(component(Doc(spacy.blank("en").vocab, words, tags=tags))))

    assert found(["NN", "NNS", "VBP", "NNS", "."]) == {"Beaver dams", "rivers"}
    assert found(["NN", "VBZ", "JJ", "NNS", "."]) == {"Beaver", "slow rivers"}


def test_the_sentences_of_the_doc_are_used_and_full_stops_where_it_has_none() -> None:
    vocab, words = spacy.blank("en").vocab, ["Dams", "hold", ".", "Rivers", "flow", "."]
    tags = ["NNS", "VBP", ".", "NNS", "VBP", "."]
    own = Doc(vocab, words, tags=tags, sent_starts=[True, False, False, False, False, False])
    assert [span.of(own.text) for span in document_of_doc(own).sentences] == ["Dams hold . Rivers flow ."]
    without = Doc(vocab, words, tags=tags)
    assert [span.of(own.text) for span in document_of_doc(without).sentences] == ["Dams hold .", "Rivers flow ."]


def test_a_doc_without_tags_raises_and_says_what_is_needed() -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("mudy", config={"method": "yake"})
    with pytest.raises(InputError, match=r"no tags.*tagger"):
        nlp("Beaver dams slow rivers.")


def stream_with_an_untagged_doc() -> tuple[list[Doc], Any]:
    """Docs of which the second has no tags, and a pipeline for them."""
    nlp = spacy.blank("en")
    nlp.add_pipe("mudy", config={"method": "yake"})
    tagged = [Doc(nlp.vocab, ["Beaver", "dams"], tags=["NN", "NNS"]) for _ in range(3)]
    return [tagged[0], nlp.make_doc("Rivers flow."), *tagged[1:]], nlp


def test_a_doc_that_fails_goes_to_the_error_handler_and_the_others_come_out() -> None:
    docs, nlp = stream_with_an_untagged_doc()
    failed: list[tuple[str, list[Doc], str]] = []
    nlp.set_error_handler(lambda name, _, docs, error: failed.append((name, docs, type(error).__name__)))
    assert list(nlp.pipe(docs)) == [docs[0], docs[2], docs[3]]
    assert failed == [("mudy", [docs[1]], "InputError")]
    assert texts_of(docs[3]) == ["Beaver dams"]


def test_without_an_error_handler_a_doc_that_fails_raises_after_those_before_it() -> None:
    docs, nlp = stream_with_an_untagged_doc()
    stream = nlp.pipe(docs)
    assert next(stream) is docs[0]
    with pytest.raises(InputError, match="no tags"):
        next(stream)


def test_two_components_keep_their_keyphrases_apart_under_their_names() -> None:
    nlp = spacy.load(ENGLISH, exclude=["ner", "lemmatizer"])
    nlp.add_pipe("mudy", name="long", config={"method": "yake", "top_n": 5})
    nlp.add_pipe("mudy", name="short", config={"method": "textrank", "top_n": 2})
    wanted = {
        name: [k.text for k in Extractor(method, language=nlp).extract(TEXT, top_n=top_n)]
        for name, method, top_n in (("long", "yake", 5), ("short", "textrank", 2))
    }
    made = nlp(TEXT)
    for doc in (made, Doc(nlp.vocab).from_bytes(made.to_bytes())):
        assert {name: [k.text for k in doc._.keyphrases_of(name)] for name in wanted} == wanted
        assert texts_of(doc) == [phrase.text for phrase in doc._.phrases] == wanted["long"]
        assert {span.text.lower() for span in doc.spans["short"]} >= {text.lower() for text in wanted["short"]}
        assert len(doc.spans["long"]) > len(doc.spans["short"])


def test_a_component_that_has_not_seen_the_doc_is_named_with_those_that_have() -> None:
    with pytest.raises(InputError, match=r"component 'tags'.*: 'mudy'"):
        pipeline()(TEXT)._.keyphrases_of("tags")
    assert spacy.blank("en")(TEXT)._.keyphrases == []


@pytest.mark.parametrize(
    ("language", "before", "missing"),
    [
        ("en", "tagger", []),
        ("zh", "tagger", []),
        ("de", "morphologizer", []),
        ("en", "morphologizer", ["token.tag"]),
        ("de", "tagger", ["token.pos"]),
    ],
)
def test_the_analysis_of_a_pipeline_misses_the_tags_that_the_language_needs(
    language: str, before: str, missing: list[str]
) -> None:
    nlp = spacy.blank(language)
    nlp.add_pipe(before)
    nlp.add_pipe("mudy", config={"method": "yake"})
    assert nlp.analyze_pipes()["problems"]["mudy"] == missing


def test_the_analysis_of_a_pipeline_names_all_that_is_written() -> None:
    assigned = pipeline().analyze_pipes()["summary"]["mudy"]["assigns"]
    wanted = {"doc._.keyphrases", "doc._.keyphrases_of", "doc._.phrases", "doc.spans", "doc.user_data"}
    assert set(assigned) == wanted


@pytest.mark.parametrize("text", ["", " \n ", "\u200b", "x" * 500, "\x07 rivers\x00", "e\u0301tude\u200bfloods"])
def test_every_phrase_of_an_odd_text_stands_in_it(text: str) -> None:
    doc = pipeline()(text)
    for keyphrase in doc._.keyphrases:
        best = keyphrase.occurrences[0]
        assert doc.text[best.start : best.end] == keyphrase.text


def test_a_run_of_hundreds_of_characters_is_no_phrase() -> None:
    text = f"Beaver dams {'A1b/' * 100} slow rivers."
    document = document_of_doc(pipeline()(text))
    assert document.skipped_words == 1
    assert all(word.span.end - word.span.start < 200 for word in document.words)


@pytest.mark.parametrize("option", ["language", "max_words", "protocol"])
def test_settings_of_reading_raise(option: str) -> None:
    with pytest.raises(SettingError, match=f"{option} has no effect"):
        spacy.blank("en").add_pipe("mudy", config={"settings": {option: "en"}})


def test_wrong_settings_raise_when_the_component_is_added() -> None:
    with pytest.raises(SettingError, match="Did you mean 'yake'"):
        spacy.blank("en").add_pipe("mudy", config={"method": "yakke"})


@pytest.mark.real
def test_the_default_method_gives_the_same_in_a_pipeline() -> None:
    nlp = spacy.load(ENGLISH, exclude=["ner", "lemmatizer"])
    wanted = Extractor(language=nlp).extract(PARAGRAPHS[0])
    nlp.add_pipe("mudy")
    assert nlp(PARAGRAPHS[0])._.keyphrases == list(wanted)


@pytest.mark.real
@pytest.mark.filterwarnings("ignore:This process.*multi-threaded:DeprecationWarning")
def test_two_processes_compute_with_models_that_their_parent_has_used() -> None:
    nlp = spacy.load(ENGLISH, exclude=["ner", "lemmatizer"])
    nlp.add_pipe("mudy", config={"speed": "quick", "settings": {"threads": 2}})
    alone = [texts_of(doc) for doc in nlp.pipe(PARAGRAPHS)]
    assert [texts_of(doc) for doc in nlp.pipe(PARAGRAPHS, n_process=2, batch_size=2)] == alone
