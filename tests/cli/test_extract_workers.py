"""How many processes `mudy extract` uses unless it is told."""

import pytest

from mudy import Extractor
from mudy.cli import extract_command
from mudy.cli.extract_command import MANY, default_workers


@pytest.fixture(autouse=True)
def _four_cpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "4")
    monkeypatch.setattr(extract_command, "may_have_gpu", lambda: False)


def test_many_inputs_are_computed_by_one_process_per_cpu() -> None:
    assert default_workers(Extractor(), MANY) == 4


def test_few_inputs_stay_in_one_process() -> None:
    assert default_workers(Extractor(), MANY - 1) == 1


def test_threads_that_are_asked_for_stay_in_one_process() -> None:
    assert default_workers(Extractor(threads=2), MANY) == 1


def test_a_method_that_computes_texts_one_by_one_stays_in_one_process() -> None:
    assert default_workers(Extractor("yake"), MANY) == 1


def test_a_gpu_is_not_shared_by_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extract_command, "may_have_gpu", lambda: True)
    assert default_workers(Extractor(), MANY) == 1
