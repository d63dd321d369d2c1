"""onnxruntime: how many threads."""

import pytest

from mudy._support import onnx


@pytest.mark.parametrize(("given", "threads"), [("3", 3), ("", 8), ("0", 8), ("all", 8)])
def test_all_cpus_are_used_up_to_a_limit_unless_the_environment_says_otherwise(
    given: str, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(onnx, "usable_cpus", lambda: 64)
    monkeypatch.setenv("OMP_NUM_THREADS", given)
    assert onnx.ThreadMap().threads == threads
    assert onnx.ThreadMap(2).threads == 2
