"""The style of a request, else that of the service, reaches the methods that have styles."""

from typing import Any

import pytest

from mudy.integrations.mcp import LocalBackend
from mudy.server.answers import explanation_job, extraction_job
from mudy.server.config import Config
from mudy.server.problems import HttpProblem
from mudy.server.request_schemas import ExplainRequest, ExtractRequest
from mudy.server.response_schemas import service_info

TEXT = "River ice is thin in spring."


def extracted(config: Config, **request: Any) -> dict[str, Any]:
    job = extraction_job(ExtractRequest.model_validate({"text": TEXT, **request}), config, "id")
    return dict(job.texts[0].extractor.settings)


def explained(config: Config, **request: Any) -> dict[str, Any]:
    job = explanation_job(ExplainRequest.model_validate({"text": TEXT, **request}), config, "id")
    return {text.extractor.method: dict(text.extractor.settings) for text in job.texts}


def test_a_request_names_a_style_or_has_that_of_the_service() -> None:
    plain, terms = Config(), Config(style="terms")
    assert extracted(plain) == {}
    assert extracted(plain, style="terms") == extracted(terms) == extracted(terms, style=None) == {"style": "terms"}
    assert extracted(terms, style="subjects") == {"style": "subjects"}
    assert extracted(terms, settings={"style": "subjects"}) == {"style": "subjects"}
    assert extracted(terms, method="yake") == {}


def test_of_compared_methods_a_style_is_for_those_that_have_styles() -> None:
    wanted = {"yake": {}, "mudyplus": {"style": "terms"}}
    assert explained(Config(), methods=["yake", "mudyplus"], style="terms") == wanted
    assert explained(Config(style="terms"), methods=["yake", "mudyplus"]) == wanted


@pytest.mark.parametrize("methods", [["yake"], ["yake", "textrank"]])
def test_a_style_that_no_method_has_is_refused_before_the_queue(methods: list[str]) -> None:
    with pytest.raises(HttpProblem) as compared:
        explained(Config(), methods=methods, style="terms")
    with pytest.raises(HttpProblem) as alone:
        extracted(Config(), method=methods[0], style="terms")
    assert compared.value.detail == f"style: only mudyplus has styles, not {' or '.join(methods)}"
    assert alone.value.detail == "style: only mudyplus has styles, not yake"


def test_the_service_says_which_styles_there_are() -> None:
    told = service_info(Config(style="terms"))
    assert told.default_style == "terms"
    assert list(told.styles) == ["subjects", "terms", "keywords", "tags"]
    assert service_info(Config()).default_style == "subjects"
    assert service_info(Config(history="notes")).default_style == "tags"


def test_another_method_of_an_assistant_has_no_style() -> None:
    backend = LocalBackend({"method": "mudyplus", "style": "terms", "speed": "quick"})
    assert backend._settings("mudyplus", {})["style"] == "terms"
    assert "style" not in backend._settings("yake", {})
