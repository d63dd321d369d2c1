"""The service with several processes: the same answers, and whatever ends there, each request is answered once."""

import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from mudy import Extractor, ModelError
from mudy._support.callbacks import checked_by
from mudy._support.workers import Cancelling
from mudy.engines import Compute
from mudy.errors import WorkerError
from mudy.extraction.options import Options
from mudy.extraction.outcomes import Item
from mudy.extraction.results import Result
from mudy.server.config import Config
from mudy.server.scorer import Batch, ExtractorKey, ProcessScorer, ScoringWork, scorers
from mudy.server.telemetry import Eta
from tests import small
from tests.extraction.test_outcomes_by_workers import children
from tests.reading.test_pool import gone
from tests.served import Served, alike, serving, until
from tests.server.clients import LONG, posting
from tests.server.gate import YAKE

pytestmark = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="processes are looked up in /proc")


@pytest.fixture(scope="module")
def several(model: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("several"), "--model", model, "--workers", "2") as service:
        yield service


def workers(served: Served) -> list[int]:
    return [pid for pid in children(served.process.pid) if "worker_main" in Path(f"/proc/{pid}/cmdline").read_text()]


@pytest.mark.slow
def test_answers_are_those_of_one_process(several: Served, library: Extractor) -> None:
    texts = [small.TEXT, "A ferry.", "", small.TEXT[:60]]
    with several.client() as client, ThreadPoolExecutor(8) as threads:
        asked = [threads.submit(client.post, "/v1/extract", json={"text": text}) for text in texts * 3]
        found = [each.result().json()["results"][0] for each in asked]
        whole = client.post("/v1/explain", json={"text": small.TEXT, "methods": ["mudy", "yake"]}).json()
    expected = [library.extract(text).to_dict() for text in texts * 3]
    assert alike(found, expected)
    explained = library.explain(small.TEXT, ["mudy", "yake"]).to_dict()
    assert alike([m["keyphrases"] for m in whole["methods"]], [m["keyphrases"] for m in explained["methods"]])


@pytest.mark.slow
def test_figures_are_those_of_all_processes(several: Served, model: str) -> None:
    assert len(workers(several)) == 2
    assert several.metric("mudy_worker_processes") == 2
    before = several.metric("mudy_texts_total")
    with several.client() as client:
        client.post("/v1/extract", json={"texts": [small.TEXT] * 5, "method": "yake"}).raise_for_status()
        known = {each["name"]: each["loaded"] for each in client.get("/v1/models").json()["models"]}
    assert several.metric("mudy_texts_total") == before + 5
    assert known[model]


@pytest.mark.slow
def test_a_request_is_answered_though_its_process_is_killed(several: Served, library: Extractor) -> None:
    text = LONG[:20_000]
    with several.client() as client, ThreadPoolExecutor() as threads:
        working = threads.submit(client.post, "/v1/extract", json={"text": text})
        until(lambda: several.metric("mudy_working_requests") == 1, several)
        for pid in workers(several):
            os.kill(pid, signal.SIGKILL)
        assert alike(working.result().json(), {"results": [library.extract(text).to_dict()]})
        assert client.get("/healthz").status_code == 200


@pytest.mark.slow
def test_a_client_that_goes_away_ends_the_work_and_not_the_process(several: Served) -> None:
    gone_before = several.metric("mudy_cancelled_total", {"reason": "client-gone"})
    with posting(several, "/v1/extract", text=LONG):
        until(lambda: several.metric("mudy_working_requests") == 1, several)
        before = workers(several)
    until(lambda: several.metric("mudy_cancelled_total", {"reason": "client-gone"}) == gone_before + 1, several)
    until(lambda: several.metric("mudy_working_requests") == 0, several)
    with several.client() as client:
        assert client.post("/v1/extract", json={"text": small.TEXT}).status_code == 200
    assert set(before) <= set(workers(several))  # no process had to be replaced


@pytest.mark.slow
def test_no_process_is_left_when_the_service_ends(model: str, tmp_path: Path) -> None:
    with serving(tmp_path, "--model", model, "--workers", "2") as ending:
        pids = workers(ending)
        ending.process.send_signal(signal.SIGTERM)
        assert ending.ended() == 0
    assert len(pids) == 2
    until(lambda: all(map(gone, pids)))


@pytest.mark.slow
def test_a_model_that_no_process_can_load_ends_the_service(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "llama"}')
    with serving(tmp_path, "--model", str(tmp_path), "--workers", "2", ready=False) as broken:
        assert broken.ended() == 1
    assert "could not be loaded" in broken.written.splitlines()[-1]
    with pytest.raises(ModelError):
        scorers(Config(method="mudy", model="./missing", workers=2))


# -- One process ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def scorer() -> Iterator[ProcessScorer]:
    made = ProcessScorer(ScoringWork(Config(method="yake", compute=Compute(threads=1))))
    made.await_start()
    yield made
    made.close()


def batch(*texts: str, key: ExtractorKey = YAKE) -> Batch:
    return Batch(key, 0, [Item(number, text, Options(top_n=3)) for number, text in enumerate(texts)])


def test_a_text_that_fails_fails_alone(scorer: ProcessScorer) -> None:
    options = Options(top_n="auto")  # which yake does not know
    mixed = Batch(YAKE, 0, [Item(0, small.TEXT, Options(top_n=3)), Item(1, small.TEXT, options)])
    good, bad = scorer.compute(mixed)
    assert "top_n='auto'" in str(bad.result)
    assert good.result == Extractor("yake").extract(small.TEXT, 3)


def test_what_is_cancelled_is_left_at_once(scorer: ProcessScorer) -> None:
    pid, calls = scorer._process.pid, 0

    def leave() -> None:
        nonlocal calls
        calls += 1
        raise Cancelling

    with pytest.raises(Cancelling), checked_by(leave):
        scorer.compute(batch(" ".join([small.TEXT] * 3000)))
    assert calls == 1
    assert scorer.compute(batch(small.TEXT))
    assert scorer._process.pid == pid


def test_a_text_that_ends_its_process_twice_fails_alone(scorer: ProcessScorer) -> None:
    deaths = 0

    def kill() -> None:
        """Called while a batch is computed."""
        nonlocal deaths
        if deaths < 2:
            pid = scorer._process.pid
            os.kill(pid, signal.SIGKILL)
            until(lambda: scorer._process.failure is not None)
            deaths += 1

    with checked_by(kill):
        (outcome,) = scorer.compute(batch(" ".join([small.TEXT] * 3000)))
    assert isinstance(outcome.result, WorkerError)
    assert "signal 9" in str(outcome.result)
    (again,) = scorer.compute(batch(small.TEXT))
    assert isinstance(again.result, Result)


def test_who_is_refused_waits_less_where_more_processes_compute() -> None:
    one, two = Eta(), Eta(2)
    for eta in (one, two):
        eta.learn("mudy", [80], 1.0)
    assert (one.retry_after([("mudy", 1980)]), two.retry_after([("mudy", 1980)])) == (10, 5)


def test_the_key_of_the_service_is_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    sent = []
    monkeypatch.setattr(ProcessScorer, "__init__", lambda _, work: sent.append(work))
    monkeypatch.setattr(ProcessScorer, "await_start", lambda _: None)
    scorers(Config(method="yake", api_key="secret", workers=2, report=lambda *_: None))
    assert [(work.config.api_key, work.config.report) for work in sent] == [(None, None)] * 2
