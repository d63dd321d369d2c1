"""Chat models behind an address, against a real server that behaves well, badly, or not at all."""

import socket
import threading
import time

import pytest

from mudy import EndpointError, EndpointRefused, MudyError, SettingError
from mudy.engines.endpoint import THOUGHT, Endpoint, ErrorBody, completions_url, retry_after
from tests.chat_server import KEY, Handler, Server, Step, fails, says, sends
from tests.served import PATIENCE, until


def ask(endpoint: Endpoint, max_new_tokens: int = 128) -> str:
    return endpoint.write("Be brief.", "Text: ice", max_new_tokens)


def failure(endpoint: Endpoint, kind: type[MudyError] = EndpointError) -> str:
    """What the error says; never the key."""
    with pytest.raises(kind) as caught:
        ask(endpoint)
    chain: BaseException | None = caught.value
    while chain is not None:
        assert KEY not in str(chain) + repr(chain) + repr(vars(chain))
        chain = chain.__cause__ or chain.__context__
    return str(caught.value)


# -- Answers ----------------------------------------------------------------------------------------------------------


def test_one_request_in_the_usual_form_gives_the_answer(server: Server) -> None:
    assert ask(server.endpoint(says("Keyphrases: ice"))) == "Keyphrases: ice"
    (request,) = server.seen
    assert request["path"] == "/v1/chat/completions"
    assert request["model"] == "some-model"
    assert request["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Text: ice"},
    ]
    assert (request["temperature"], request["max_tokens"]) == (0, 128)
    assert request["headers"]["Authorization"] == f"Bearer {KEY}"
    assert server.waits == []


def test_without_a_key_none_is_sent(server: Server) -> None:
    ask(server.endpoint(says(""), key=" \n"))
    assert "Authorization" not in server.seen[0]["headers"]


@pytest.mark.parametrize(
    ("step", "answer"),
    [
        (says([{"type": "text", "text": "Keyphrases: "}, {"type": "text", "text": "ice"}]), "Keyphrases: ice"),
        (says(None), ""),
        (says(""), ""),
        (says(None, refusal="I'm sorry, I can't."), ""),
        (says("half of it", finish_reason="content_filter"), ""),
        (fails(400, message="The prompt was filtered.", code="content_filter", param="prompt"), ""),
        (says("cut", finish_reason="length"), "cut"),
    ],
)
def test_content_comes_in_parts_or_not_at_all(server: Server, step: Step, answer: str) -> None:
    assert ask(server.endpoint(step)) == answer


def test_lone_surrogates_do_not_reach_the_server(server: Server) -> None:
    server.endpoint(says("")).write("a", "b \ud800 c", 5)
    assert server.seen[0]["messages"][1]["content"] == "b ? c"


def test_a_model_that_spends_all_its_tokens_on_thought_is_told_so(server: Server) -> None:
    assert "max_new_tokens is 128; raise it" in failure(server.endpoint(says("", finish_reason="length")))
    assert len(server.seen) == 1


# -- Parameters that a server rejects ---------------------------------------------------------------------------------


def test_newer_parameters_are_used_once_the_server_asks_for_them(server: Server) -> None:
    endpoint = server.endpoint(
        fails(400, message="Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens'.", param="max_tokens"),
        fails(400, message="Unsupported value: 'temperature' does not support 0.", param="temperature"),
        says("Keyphrases: ice"),
    )
    assert ask(endpoint) == "Keyphrases: ice"
    assert ask(endpoint) == "Keyphrases: ice"  # and it remembers
    assert len(server.seen) == 4
    for request in server.seen[2:]:
        assert "temperature" not in request
        assert "max_tokens" not in request
        assert request["max_completion_tokens"] == 128 + THOUGHT
    assert server.waits == []


def test_a_parameter_may_be_named_in_words_alone(server: Server) -> None:
    endpoint = server.endpoint(sends(b'{"detail": "temperature: extra fields not permitted"}', 422), says("fine"))
    assert ask(endpoint) == "fine"
    assert "temperature" not in server.seen[1]


def test_a_parameter_rejected_whatever_its_form_is_an_error(server: Server) -> None:
    said = failure(server.endpoint(fails(400, message="max_tokens or max_completion_tokens is too large")))
    assert "max_completion_tokens is too large" in said
    assert len(server.seen) == 2


def test_a_text_too_long_for_the_server_is_told_with_what_to_do(server: Server) -> None:
    said = failure(server.endpoint(fails(400, message="This model's maximum context length is 4096 tokens.")))
    assert "maximum context length is 4096" in said
    assert "max_words" in said
    assert len(server.seen) == 1


# -- What may pass ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 529])
def test_a_failure_that_passes_is_waited_for(server: Server, status: int) -> None:
    assert ask(server.endpoint(fails(status, message="later"), says("fine"))) == "fine"
    assert len(server.waits) == 1


def test_a_server_that_asks_to_wait_is_waited_for(server: Server) -> None:
    assert ask(server.endpoint(fails(429, {"Retry-After": "7"}, message="slow down"), says("fine"))) == "fine"
    assert server.waits == [7.0]


def test_a_server_that_asks_for_more_than_our_patience_is_left(server: Server) -> None:
    said = failure(server.endpoint(fails(429, {"Retry-After": "7200"}, message="quota"), patience=60.0))
    assert "asked once" in said
    assert "HTTP 429 (quota). It asks to wait for 7,200 s." in said
    assert server.waits == []


def test_pauses_double_with_some_chance_in_them_until_the_tries_are_over(server: Server) -> None:
    said = failure(server.endpoint(fails(500, message="out of luck"), pause=1.0))
    assert "asked 5 times" in said
    assert "HTTP 500 (out of luck)" in said
    assert len(server.seen) == 5
    for tried, wait in enumerate(server.waits):
        assert 0.5 * 2**tried <= wait <= 2**tried
    assert len(server.waits) == 4


@pytest.mark.parametrize(
    ("step", "quoted"),
    [
        (sends(b"<html>Bad gateway</html>"), "<html>Bad gateway</html>"),
        (sends(b'{"choices": []}'), '{"choices": []}'),
        (sends(b'{"choices": [{"message": "text"}]}'), "message"),
        (sends(b"[1, 2]"), "[1, 2]"),
        (sends(b"null"), "null"),
        (sends(b'{"error": {"message": "upstream died"}}'), "upstream died"),
        (sends(b"\xff\xfe\x00"), ""),
        (sends(b""), ""),
        (sends(b"[" * 100_000), "[[["),
    ],
)
def test_an_answer_of_another_shape_is_asked_for_again_and_then_quoted(server: Server, step: Step, quoted: str) -> None:
    said = failure(server.endpoint(step, tries=2))
    assert "no chat completion" in said
    assert quoted in said
    assert len(said) < 600
    assert len(server.seen) == 2
    server.seen.clear()
    assert ask(server.endpoint(step, says("fine"))) == "fine"


def test_a_server_that_is_down_is_said_to_be() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    waits: list[float] = []
    endpoint = Endpoint(url, "m", key=KEY)
    vars(endpoint).update(tries=3, sleep=waits.append)
    said = failure(endpoint)
    assert said.startswith(f"{url}/chat/completions was asked 3 times")
    assert "connection refused" in said
    assert len(waits) == 2


def test_a_server_that_closes_without_a_word_is_asked_again(server: Server) -> None:
    def close(handler: Handler) -> None:
        handler.connection.shutdown(socket.SHUT_RDWR)

    assert ask(server.endpoint(close, says("fine"))) == "fine"


def test_an_answer_that_is_cut_off_is_asked_for_again(server: Server) -> None:
    cut = sends(b'{"choices": [{"mess', length=500)
    assert ask(server.endpoint(cut, says("fine"))) == "fine"
    assert "received 19 bytes" in failure(server.endpoint(cut, tries=1))


def test_a_server_that_hangs_is_left_after_the_timeout(server: Server) -> None:
    over = threading.Event()
    said = failure(server.endpoint(lambda _: (over.wait(PATIENCE), None)[1], timeout=0.1, tries=2))
    over.set()
    assert "no answer within 0.1 s" in said
    until(lambda: len(server.seen) == 2)


def test_a_server_that_drips_is_left_after_the_timeout(server: Server) -> None:
    def drip(handler: Handler) -> None:
        handler.send(200, b"", length=3000)  # a minute, which whoever waits for the end would wait
        for _ in range(3000):
            try:
                handler.wfile.write(b" ")
            except OSError:
                return
            time.sleep(0.02)

    assert "no answer within 0.2 s" in failure(server.endpoint(drip, timeout=0.2, tries=1))


def test_an_answer_without_end_is_left(server: Server) -> None:
    def flood(handler: Handler) -> None:
        handler.send(200, b"", length=10**12)
        try:
            while True:
                handler.wfile.write(b" " * 65_536)
        except OSError:
            pass

    assert "more than 4,000,000 bytes" in failure(server.endpoint(flood))
    assert len(server.seen) == 1


# -- What will not pass -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("step", "needed"),
    [
        (fails(401, message=f"Incorrect API key provided: {KEY}"), "OPENAI_API_KEY was not accepted"),
        (fails(403, message=f"The key {KEY} has no access"), "forbids this (HTTP 403 (The key *** has no access))"),
        (fails(404, message="The model `some-model` does not exist"), "has no model 'some-model' (HTTP 404"),
        (lambda h: h.send(302, b"", {"Location": "http://127.0.0.1:9/steal"}), "points elsewhere (HTTP 302)"),
    ],
)
def test_a_wrong_address_key_or_model_is_told_at_once(server: Server, step: Step, needed: str) -> None:
    said = failure(server.endpoint(step), EndpointRefused)
    assert needed in said
    assert len(server.seen) == 1
    assert server.waits == []


def test_a_missing_key_is_said_to_be_missing(server: Server) -> None:
    assert "OPENAI_API_KEY is not set" in failure(server.endpoint(fails(401), key=""), EndpointRefused)


@pytest.mark.parametrize("status", [200, 400, 500])
def test_a_key_that_the_server_repeats_is_not_repeated(server: Server, status: int) -> None:
    assert "***" in failure(server.endpoint(sends(f"you sent {KEY}".encode(), status), tries=1))


@pytest.mark.parametrize("key", [f"{KEY}\r\nX-Evil: 1", f"{KEY}é", f"{KEY}\x00"])
def test_a_key_that_no_header_can_hold_is_refused_without_being_shown(key: str) -> None:
    with pytest.raises(SettingError, match="OPENAI_API_KEY") as caught:
        Endpoint("http://localhost/v1", "m", key=key)
    assert KEY not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "full"),
    [
        ("http://localhost:8080/v1", "http://localhost:8080/v1/chat/completions"),
        ("https://api.example.org/v1/", "https://api.example.org/v1/chat/completions"),
        ("http://[::1]:80", "http://[::1]:80/chat/completions"),
        ("https://a.b/v1/chat/completions", "https://a.b/v1/chat/completions"),
        ("https://a.b/x?api-version=1", "https://a.b/x/chat/completions?api-version=1"),
    ],
)
def test_an_address_leads_to_chat_completions(url: str, full: str) -> None:
    assert completions_url(url) == full


@pytest.mark.parametrize(
    "url",
    ["", "localhost:8080", "ftp://a/b", "file:///etc/passwd", "http://", "http://a b/", "http://a:99999/", "http://é"],
)
def test_what_is_no_address_of_the_web_is_refused(url: str) -> None:
    with pytest.raises(SettingError, match="such as http://localhost:8080/v1"):
        completions_url(url)


def test_a_password_in_an_address_is_refused_without_being_shown() -> None:
    with pytest.raises(SettingError, match="OPENAI_API_KEY") as caught:
        completions_url("http://user:secret@host/v1")
    assert "secret" not in str(caught.value)


def test_retry_after_is_a_number_of_seconds() -> None:
    assert retry_after("3") == 3.0
    assert retry_after("0.5") == 0.5
    assert retry_after("-1") == 0.0
    for nonsense in (None, "", "soon", "nan", "inf", "Wed, 21 Oct 2015 07:28:00 GMT"):
        assert retry_after(nonsense) is None


def test_a_word_of_the_text_in_an_error_names_no_parameter() -> None:
    assert not ErrorBody.of(b'{"error": {"message": "bad temperature", "param": "model"}}').names("temperature")
    assert not ErrorBody("the max_tokens_total is off").names("max_tokens")


def test_no_log_holds_the_key_or_the_query_of_an_address(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    server.steps[:] = [says("Keyphrases: ice")]
    ask(Endpoint(f"{server.url}?code={KEY}", "some-model", key=KEY))
    assert server.seen[0]["path"].endswith(f"?code={KEY}")
    assert caplog.records
    assert KEY not in caplog.text
