"""Extractors are cached by method and settings."""

import pytest

from mudy import SettingError
from mudy.server.extractor_cache import ExtractorCache
from mudy.server.jobs import ExtractorKey
from tests.server.gate import MUDY, YAKE, extractor


def test_extractors_are_kept_by_method_and_settings_and_share_the_model() -> None:
    root = extractor()
    extractors = ExtractorCache(root, size=2)
    first, second = extractors[MUDY], extractors[ExtractorKey("mudy", (("kappa", 0.5),))]
    assert extractors[MUDY] is first
    assert first.scorer.backbone is second.scorer.backbone  # type: ignore[attr-defined]
    assert second.scorer.kappa == 0.5  # type: ignore[attr-defined]
    assert extractors[YAKE] is not first
    assert len(extractors) == 2
    assert extractors[MUDY] is first  # `second` was the one used longest ago


def test_settings_out_of_range_are_refused_each_time() -> None:
    extractors = ExtractorCache(extractor())
    for _ in range(2):
        with pytest.raises(SettingError, match="sigma"):
            extractors[ExtractorKey("mudy", (("sigma", -1.0),))]
