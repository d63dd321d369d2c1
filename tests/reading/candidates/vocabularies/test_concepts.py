"""Vocabularies as values: what is joined, what is left out, and what is said of it."""

import pickle
from pathlib import Path

import pytest

from mudy import Concept, InputError, Vocabulary, VocabularyWarning


def test_entries_of_one_id_are_one_concept_with_all_labels_once() -> None:
    entries = [{"id": "1", "label": "flood"}, {"id": "1", "label": "inundation", "alternatives": ["flood", "deluge"]}]
    assert Vocabulary.of(entries).concepts == (Concept("1", "flood", ("inundation", "deluge")),)


def test_a_label_alone_is_its_own_id() -> None:
    assert Vocabulary.of([" flood  wall "]).concepts == (Concept("flood  wall", "flood wall"),)


def test_entries_without_a_label_are_left_out_and_noted() -> None:
    vocabulary = Vocabulary.of([{"id": "7"}, "flood", {"id": "8", "label": "  "}])
    assert len(vocabulary) == 1
    assert vocabulary.notes == ("2 of the entries have no label and are left out: '7', '8'.",)


def test_a_label_of_several_concepts_is_noted_with_their_ids() -> None:
    vocabulary = Vocabulary.of([{"id": "1", "label": "bank"}, {"id": "2", "label": "Bank"}])
    (note,) = vocabulary.notes
    assert "'bank' of 1, 2" in note


def test_labels_that_only_share_stems_are_not_ambiguous() -> None:
    assert Vocabulary.of(["universe", "university"]).notes == ()


@pytest.mark.parametrize(
    "value", ["terms.csv", 5, [5], [{"name": "x"}], [], [""], [{"label": "x", "alternatives": "y"}]]
)
def test_what_is_no_vocabulary_is_refused_in_our_words(value: object) -> None:
    with pytest.raises(InputError):
        Vocabulary.of(value)


def test_the_fingerprint_tells_vocabularies_apart() -> None:
    one, other = Vocabulary.of(["flood", "ice"]), Vocabulary.of(["flood", {"id": "ice", "label": "frost"}])
    assert one.fingerprint == Vocabulary.of(["flood", "ice"]).fingerprint != other.fingerprint
    assert one.fingerprint in repr(one)


def test_a_vocabulary_is_sent_to_other_processes_without_its_index() -> None:
    vocabulary = Vocabulary.of(["flood"])
    assert vocabulary.index_of("en").places("a flood")
    copy = pickle.loads(pickle.dumps(vocabulary))
    assert "index" not in vars(copy)
    assert copy == vocabulary
    assert copy.index_of("en").places("a flood")


def test_a_process_that_is_sent_a_vocabulary_twice_builds_one_index() -> None:
    sent = pickle.dumps(Vocabulary.of(["a vocabulary of its own"]))
    assert pickle.loads(sent) is pickle.loads(sent)


def test_loading_warns_of_what_is_noted(tmp_path: Path) -> None:
    path = tmp_path / "terms.csv"
    path.write_text("id,label\n1,flood\n2,\n")
    with pytest.warns(VocabularyWarning, match="1 of the entries have no label"):
        Vocabulary.load(path)
