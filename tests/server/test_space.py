"""Facts about the page as a Hugging Face Space."""

import sys
from pathlib import Path

import httpx
import pytest

from tests.served import started

APP = Path(__file__).parents[2] / "space" / "app.py"


@pytest.mark.slow
@pytest.mark.real
def test_a_space_serves_the_page_in_a_frame_of_the_hub_and_extracts(tmp_path: Path) -> None:
    with started(tmp_path, [sys.executable, APP], environment={"PORT": "0"}) as served, served.client() as client:
        page = client.get("/")
        answer = client.post("/v1/extract", json={"text": "River gauges measure the flood."})
    assert "<title>" in page.text
    ancestors = page.headers["content-security-policy"].rpartition("frame-ancestors ")[2]
    assert ancestors == "https://huggingface.co"
    assert "x-frame-options" not in page.headers
    assert answer.status_code == httpx.codes.OK
    assert "River gauges" in [keyphrase["text"] for keyphrase in answer.json()["results"][0]["keyphrases"]]
