"""How the service starts and ends."""

import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner

from mudy import Extractor
from mudy.cli.main import cli
from tests.served import Served, alike, serving, until
from tests.server.clients import LONG, posting, problem


@pytest.mark.slow
def test_while_the_model_is_loaded_it_lives_but_is_not_ready_and_a_second_signal_ends_it_at_once(
    model: str, tmp_path: Path
) -> None:
    with serving(tmp_path, "--model", model, ready=False) as ending, posting(ending, "/v1/extract", text=LONG):
        assert httpx.get(f"{ending.address}/healthz").status_code == 200
        not_yet = httpx.get(f"{ending.address}/readyz")
        problem(not_yet, 503, "not-ready")
        assert not_yet.headers["retry-after"] == "1"
        until(lambda: ending.metric("mudy_working_requests") == 1, ending)
        ending.process.send_signal(signal.SIGINT)
        until(lambda: "waiting up to 30 s for 1 request. Press Ctrl-C again" in ending.written, ending)
        ending.process.send_signal(signal.SIGTERM)
        assert ending.ended() == 128 + signal.SIGTERM  # the request was not waited for


@pytest.mark.slow
def test_a_model_that_cannot_be_loaded_ends_the_service(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "llama"}')
    with serving(tmp_path, "--model", str(tmp_path), ready=False) as broken:
        assert broken.ended() == 1
    assert "could not be loaded" in broken.written.splitlines()[-1]
    assert "Traceback" not in broken.written


@pytest.mark.slow
def test_what_was_admitted_is_answered_whole_when_the_service_is_told_to_end(
    model: str, library: Extractor, tmp_path: Path
) -> None:
    text = LONG[:20_000]
    patience = "--grace=250"  # however slow the machine is
    with (
        serving(tmp_path, "--model", model, patience) as ending,
        ending.client() as client,
        ThreadPoolExecutor() as threads,
    ):
        working = threads.submit(client.post, "/v1/extract", json={"text": text})
        until(lambda: ending.metric("mudy_working_requests") == 1, ending)
        waiting = threads.submit(client.post, "/v1/extract", json={"text": text, "method": "yake"})
        until(lambda: ending.metric("mudy_waiting_requests") == 1, ending)
        ending.process.send_signal(signal.SIGTERM)
        until(lambda: "waiting up to 250 s for 2 requests." in ending.written, ending)
        with pytest.raises(httpx.ConnectError):
            httpx.get(f"{ending.address}/healthz")
        assert alike(working.result().json(), {"results": [library.extract(text).to_dict()]})
        assert alike(waiting.result().json(), {"results": [library.using("yake").extract(text).to_dict()]})
        assert ending.ended() == 0
    assert "Traceback" not in ending.written
    assert not [line for line in ending.log if line["level"] == "error"]


@pytest.mark.slow
def test_after_the_grace_period_the_service_ends_with_what_is_left(model: str, tmp_path: Path) -> None:
    with (
        serving(tmp_path, "--model", model, "--grace", "0.3") as ending,
        ending.client() as client,
        ThreadPoolExecutor() as threads,
    ):
        working = threads.submit(client.post, "/v1/extract", json={"text": LONG})
        until(lambda: ending.metric("mudy_working_requests") == 1, ending)
        ending.process.send_signal(signal.SIGTERM)
        problem(working.result(), 503, "shutting-down")
        assert ending.ended() == 0


def refused(*options: str) -> tuple[int, str]:
    found = CliRunner().invoke(cli, ["serve", *options], env={"MUDY_API_KEY": None})
    return found.exit_code, found.stderr


def test_it_does_not_listen_beyond_this_machine_without_a_key() -> None:
    code, told = refused("--host", "0.0.0.0")
    assert code == 2
    assert "--insecure" in told
    assert "MUDY_API_KEY" in told


def test_a_port_that_is_taken_is_one_clear_line(served: Served) -> None:
    code, told = refused("--port", str(served.port))
    assert code == 1
    assert told.count("\n") == 1
    assert f"port {served.port}" in told


@pytest.mark.parametrize(
    ("options", "hint"),
    [
        (("--method", "empirical"), "chat model"),
        (("--api-key", "two words"), "without spaces"),
        (("--api-key", ""), "without spaces"),
        (("--queue", "0"), "--queue"),
        (("--timeout", "0"), "--timeout"),
    ],
)
def test_wrong_options_are_wrong_usage(options: tuple[str, ...], hint: str) -> None:
    code, told = refused(*options)
    assert code == 2
    assert hint in told


def test_a_missing_extra_names_its_command(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    for name in [name for name in sys.modules if name.startswith("mudy.server")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    code, told = refused()
    assert code == 1
    assert 'pip install "fastapi>=' in told
