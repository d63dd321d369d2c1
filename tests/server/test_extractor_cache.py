"""Extractors are kept by method and settings."""

import pytest

from mudy import SettingError
from mudy.server import scorer
from mudy.server.scorer import LocalScorer
from tests.server.gate import extractor


def test_extractors_are_kept_by_method_and_settings_and_share_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scorer, "EXTRACTORS", 2)
    extractors = LocalScorer(extractor())
    first, second = extractors.extractor("mudy", ()), extractors.extractor("mudy", (("kappa", 0.5),))
    assert extractors.extractor("mudy", ()) is first
    assert first.scorer.backbone is second.scorer.backbone  # type: ignore[attr-defined]
    assert second.scorer.kappa == 0.5  # type: ignore[attr-defined]
    assert extractors.extractor("yake", ()) is not first
    assert extractors.extractor("mudy", ()) is first  # `second` was the one used longest ago


def test_settings_out_of_range_are_refused_each_time() -> None:
    extractors = LocalScorer(extractor())
    for _ in range(2):
        with pytest.raises(SettingError, match="sigma"):
            extractors.extractor("mudy", (("sigma", -1.0),))
