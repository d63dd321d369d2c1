"""Facts about runs: what is written, what is resumed, what is refused."""

import json
import math
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mudy._support.storage import output_lock
from mudy.errors import InputError
from mudy.evaluation.datasets import Dataset, Record, load
from mudy.evaluation.experiment import evaluate, judge, read_record
from mudy.evaluation.measures import F1, R
from mudy.evaluation.runs import JudgedDocument, Run, RunFile
from mudy.extraction.extractor import Extractor
from mudy.extraction.run_identity import differences
from tests.small import TEXT
from tests.taggers import english

PARTS = TEXT.split(". ")
RECORDS = tuple(Record(f"d{i}", None, ". ".join(PARTS[i:]), ("River ice", "ice road", "hovercraft")) for i in range(4))
RIVERS = Dataset("rivers", "mudy", RECORDS)


def extractor(method: str = "singlerank", **settings: Any) -> Extractor:
    return Extractor(method, protocol="promptrank", language=english(), **settings)


def content(run: Run) -> list[JudgedDocument]:
    """All of a run but the clock."""
    return [replace(document, seconds=0, cpu_seconds=0) for document in run.documents]


@pytest.fixture
def output(tmp_path: Path) -> Path:
    return tmp_path / "run.json"


FRENCH = Record(
    "fr",
    None,
    "Les réseaux électriques de la Bretagne sont anciens. Les Bretons demandent que les réseaux électriques soient "
    "renforcés avant l'hiver, car les tempêtes les endommagent chaque année.",
    ("Réseau électrique", "tempête"),
)


def test_a_text_in_another_language_is_read_and_judged_by_its_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mudy.reading.tagging.tagger_is_here", lambda _: False)
    found = judge(Extractor("yake", protocol="promptrank"), Dataset("nouvelles", "mudy", (FRENCH,)), FRENCH)
    assert found.language == "fr"
    assert found.reached == 2
    assert found.present == (True, True)
    predictions = found.predictions()
    assert predictions is not None
    assert (R @ 15)([predictions]) == 100


def test_other_languages_keep_their_case_under_the_protocol_and_its_number_of_words() -> None:
    data = Dataset("nouvelles", "mudy", (FRENCH,))
    short = Extractor("yake", protocol="promptrank", max_words=5)
    document = read_record(short, data, FRENCH)
    assert document.text == "Les réseaux électriques de la"
    assert document.omitted_words > 0


def test_a_run_keeps_the_language_of_each_document(output: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mudy.reading.tagging.tagger_is_here", lambda _: False)
    run = evaluate(Extractor("yake", protocol="promptrank"), [Dataset("nouvelles", "mudy", (FRENCH,))], output)
    assert [document.language for document in Run.load(output).documents] == ["fr"]
    assert Run.load(output).predictions("nouvelles") == run.predictions("nouvelles")


# -- One document -----------------------------------------------------------------------------------------------------


def test_a_document_is_put_beside_its_gold() -> None:
    found = judge(extractor(), RIVERS, RECORDS[0], places=True)
    assert found.gold == ("river ice", "ice road", "hovercraft")
    assert found.present == (True, True, False)
    assert found.reached == 2  # the hovercraft is not in the text
    assert len(found.phrases) == len(found.scores) == len(set(found.phrases))
    assert list(found.scores) == sorted(found.scores, reverse=True)
    assert found.occurrences == len(found.places) >= len(found.phrases)
    read = " ".join(RECORDS[0].text.lower().split())
    for place in found.places:
        assert read[int(place["start"]) : int(place["end"])] == found.phrases[int(place["phrase"])]


def test_present_and_absent_gold_are_measured_apart() -> None:
    found = judge(extractor(), RIVERS, RECORDS[0])
    present, absent = found.predictions("present"), found.predictions("absent")
    assert present is not None
    assert absent is not None
    assert (present.gold, absent.gold) == (("river ice", "ice road"), ("hovercraft",))
    assert replace(found, present=(True, True, True)).predictions("absent") is None


def test_a_document_without_candidates_counts_as_found_nothing() -> None:
    empty = Record("e", None, "And so, then, it was.", ("ice",))
    run = evaluate(extractor(), [Dataset("rivers", "mudy", (empty, RECORDS[0]))])
    assert (run.documents[0].phrases, run.documents[0].occurrences, run.documents[0].reached) == ((), 0, 0)
    alone = evaluate(extractor(), [Dataset("rivers", "mudy", (RECORDS[0],))])
    assert (F1 @ 5)(run.predictions("rivers")) < (F1 @ 5)(alone.predictions("rivers"))


def test_whole_texts_are_read_as_they_stand() -> None:
    found = judge(Extractor("singlerank", language=english()), RIVERS, RECORDS[0], places=True)
    for place in found.places:
        assert TEXT[int(place["start"]) : int(place["end"])].lower() == found.phrases[int(place["phrase"])]


# -- Files ------------------------------------------------------------------------------------------------------------


def test_a_run_says_what_it_came_from_and_what_it_came_to(output: Path) -> None:
    run = evaluate(extractor(window=5), [RIVERS], output)
    written = json.loads(output.read_text(encoding="utf-8"))
    assert written["asked"]["settings"] == {"window": 5}
    assert written["used"]["settings"]["window"] == 5
    assert {"mudy", "spacy", "onnxruntime"} <= set(written["used"]["versions"])
    assert written["totals"]["rivers"]["micro"]["F1@5"]["value"] == (F1 @ 5)(run.predictions("rivers"))
    assert Run.load(output) == run
    assert sorted(p.name for p in output.parent.iterdir()) == ["run.json"]  # no journal, no lock, no half file


def test_what_is_done_is_not_done_again(output: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = evaluate(extractor(), [replace(RIVERS, documents=RECORDS[:2])], output)
    seen: list[str] = []
    whole = evaluate(extractor(), [RIVERS], output, progress=lambda *step: seen.append(str(step)))
    assert seen == ["('rivers', 2, 4)", "('rivers', 3, 4)"]
    assert whole.documents[:2] == first.documents
    monkeypatch.delattr(Extractor, "load")  # cannot be asked any more
    assert evaluate(extractor(), [RIVERS], output) == whole
    fewer = evaluate(extractor(), [replace(RIVERS, documents=RECORDS[1:2])], output)
    assert fewer.documents == whole.documents[1:2]
    assert Run.load(output) == whole, "asking for fewer documents throws none away"


def test_another_setting_is_refused_and_named_unless_begun_anew(output: Path) -> None:
    before = evaluate(extractor(), [RIVERS], output)
    with pytest.raises(InputError, match=r"settings\.window was None, now 5.*--restart"):
        evaluate(extractor(window=5), [RIVERS], output)
    with pytest.raises(InputError, match="method was 'singlerank', now 'textrank'"):
        evaluate(extractor("textrank"), [RIVERS], output)
    assert Run.load(output) == before
    assert evaluate(extractor(window=5), [RIVERS], output, restart=True).asked["settings"] == {"window": 5}


def test_documents_of_another_version_are_not_mixed_in(output: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    evaluate(extractor(), [replace(RIVERS, documents=RECORDS[:2])], output)
    monkeypatch.setattr("mudy.evaluation.experiment.installed_version", lambda _: "99")
    with pytest.raises(InputError, match=r"versions\.mudy was '.*', now '99'"):
        evaluate(extractor(), [RIVERS], output)
    assert len(evaluate(extractor(), [replace(RIVERS, documents=RECORDS[:2])], output).documents) == 2


def test_a_changed_document_is_refused(output: Path) -> None:
    evaluate(extractor(), [RIVERS], output)
    changed = (replace(RECORDS[0], keyphrases=("ice",)), *RECORDS[1:])
    with pytest.raises(InputError, match="'d0' of rivers has changed"):
        evaluate(extractor(), [replace(RIVERS, documents=changed)], output)


def test_two_data_sets_of_one_name_are_refused() -> None:
    with pytest.raises(InputError, match="the name 'rivers'"):
        evaluate(extractor(), [RIVERS, RIVERS])


def test_equal_ids_in_two_data_sets_are_two_documents(output: Path) -> None:
    run = evaluate(extractor(), [RIVERS, replace(RIVERS, name="lakes")], output)
    assert (run.names, len(run.documents)) == (["rivers", "lakes"], 8)


@pytest.mark.parametrize(
    "content", ["", "{}", "[]", '{"format": 99}', '{"format": 1, "documents": [{"x": 1}]}', "\x00"]
)
def test_a_file_that_is_no_run_is_refused_and_kept(output: Path, content: str) -> None:
    output.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match="not a run"):
        evaluate(extractor(), [RIVERS], output)
    assert output.read_text(encoding="utf-8") == content


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"the folder .*nowhere does not exist"):
        evaluate(extractor(), [RIVERS], tmp_path / "nowhere" / "run.json")


def test_a_second_run_to_the_same_output_is_refused(output: Path) -> None:
    with output_lock(output), pytest.raises(InputError, match="another run is writing"):
        evaluate(extractor(), [RIVERS], output)


# -- Kills ------------------------------------------------------------------------------------------------------------


def test_a_journal_cut_anywhere_gives_the_unbroken_run(output: Path, tmp_path: Path) -> None:
    whole = evaluate(extractor(), [RIVERS], output, places=True)
    file = RunFile(tmp_path / "cut.json")
    file.begin(replace(whole, documents=()))
    for document in whole.documents[:3]:
        file.add(document)
    journal = file.journal.read_bytes()
    head = journal.index(b"\n") + 1  # written atomically
    for length in [*range(head, len(journal), len(journal) // 12), len(journal)]:
        file.path.unlink(missing_ok=True)
        file.journal.write_bytes(journal[:length])
        again = evaluate(extractor(), [RIVERS], file.path, places=True)
        assert content(again) == content(whole)
        assert content(Run.load(file.path)) == content(whole)
        assert not file.journal.exists()


@pytest.mark.slow
def test_a_killed_process_resumes_and_equals_an_unbroken_one(tmp_path: Path) -> None:
    data = tmp_path / "rivers.jsonl"
    rows = [{"id": f"d{i}", "text": f"{TEXT} " * (1 + i % 3), "keyphrases": ["river ice"]} for i in range(60)]
    data.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    output = tmp_path / "killed.json"
    command = [sys.executable, "-m", "mudy", "evaluate", str(data), "-m", "multipartiterank", "-o", str(output), "-q"]
    journal = RunFile(output).journal
    kills = 0
    for wanted in (3, 20):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        while process.poll() is None and (not journal.exists() or journal.read_bytes().count(b"\n") <= wanted):
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        kills += process.wait() == -signal.SIGKILL
    assert kills == 2
    assert not output.exists()
    before = journal.read_bytes()
    assert subprocess.run(command, stdout=subprocess.DEVNULL, check=True).returncode == 0
    again = Run.load(output)
    unbroken = evaluate(Extractor("multipartiterank", protocol="promptrank"), [load(data)])
    assert content(again) == content(unbroken)
    kept = [json.loads(line)["seconds"] for line in before.splitlines()[1:-1]]
    assert [document.seconds for document in again.documents[: len(kept)]] == kept, "what was done is not done again"


def test_differences_are_named_entry_by_entry() -> None:
    assert differences({"a": {"b": (1, 2)}, "c": None}, {"a": {"b": [1, 2]}}) == []
    assert differences({"a": {"b": 1}}, {"a": {"b": 2}, "d": math.pi}) == [
        "a.b was 1, now 2",
        f"d was None, now {math.pi!r}",
    ]
