"""onnxruntime: how many threads."""

import pytest

from mudy._support import onnx as sessions


@pytest.mark.parametrize(("given", "threads"), [("3", 3), ("", 8), ("0", 8), ("all", 8)])
def test_all_cpus_are_used_up_to_a_limit_unless_the_environment_says_otherwise(
    given: str, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "usable_cpus", lambda: 64)
    monkeypatch.setenv("OMP_NUM_THREADS", given)
    assert sessions.Sessions().threads == threads
    assert sessions.Sessions(2).threads == 2
