"""onnxruntime: how many threads, and what is said where it is missing."""

import sys

import pytest

from mudy._support import onnx as sessions
from mudy.errors import MissingExtra


@pytest.mark.parametrize(("given", "threads"), [("3", 3), ("", 8), ("0", 8), ("all", 8)])
def test_all_cpus_are_used_up_to_a_limit_unless_the_environment_says_otherwise(
    given: str, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "usable_cpus", lambda: 64)
    monkeypatch.setenv("OMP_NUM_THREADS", given)
    assert sessions.Sessions().threads == threads
    assert sessions.Sessions(2).threads == 2


def test_without_onnxruntime_there_is_a_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(MissingExtra, match="pip install onnxruntime"):
        sessions.onnxruntime()
