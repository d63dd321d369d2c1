"""Facts about arguments: whatever is passed, what is wrong raises an error of ours that names it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mudy import Extractor
from mudy._support.validation import fit_value, type_in_words
from mudy.corpus import Columns, run
from mudy.errors import InputError, MudyError, SettingError
from mudy.evaluation.datasets import load
from mudy.evaluation.measures import F1, Predictions
from mudy.methods import METHODS, method_class, settings_of
from tests.taggers import english

TEXT = "Radar maps of sea ice help a ship's crew to find a safe road through the ice."
NAN = float("nan")
STRANGE: tuple[Any, ...] = (b"bytes", 5, 1.5, ["a"], {"a": 1}, Path("here"), object(), np.int64(3), True)
NO_STR = STRANGE
NO_COUNT: tuple[Any, ...] = (0, -1, True, 1.5, "2", b"2", [2], {}, NAN, np.array([1, 2]), np.float64(2.0))
NO_TRUTH: tuple[Any, ...] = (0, 1, "yes", None, [], np.int64(1))
NO_PHRASES: tuple[Any, ...] = ("ice", b"ice", 5, {"ice": 1}, [5], [None], [b"ice"], [["ice"]], Path("here"))


def make(**arguments: Any) -> Extractor:
    return Extractor(**{"method": "yake", "language": english(), **arguments})


def make_with(name: str) -> Callable[[Any], object]:
    return lambda value: make(**{name: value})


def extract_with(name: str) -> Callable[[Any], object]:
    return lambda value: make().extract(TEXT, **{name: value})


def option(name: str) -> Any:
    return {name: 1}


CASES: dict[str, tuple[Callable[[Any], object], tuple[Any, ...]]] = {
    "method": (make_with("method"), (*NO_STR, None)),
    "model": (make_with("model"), (*NO_STR, None)),
    "encoder": (make_with("encoder"), (*NO_STR, None)),
    "preset": (make_with("preset"), NO_STR),
    "endpoint": (make_with("endpoint"), NO_STR),
    "device": (make_with("device"), NO_STR),
    "language": (make_with("language"), (*NO_STR, None, print)),
    "protocol": (make_with("protocol"), (*NO_STR, "other")),
    "speed": (make_with("speed"), (*(value for value in NO_STR if value is not None), "faster")),
    "dtype": (make_with("dtype"), (*NO_STR, "float8")),
    "max_words": (make_with("max_words"), NO_COUNT),
    "threads": (make_with("threads"), NO_COUNT),
    "batch_tokens": (make_with("batch_tokens"), NO_COUNT),
    "report": (make_with("report"), ("print", 5)),
    "watch": (make_with("watch"), ("print", 5)),
    "text": (lambda v: make().extract(v), (*STRANGE, None)),
    "a text to read": (lambda v: make().read(v), (*STRANGE, None)),
    "a method to use": (lambda v: make().using(v), (*NO_STR, None)),
    "top_n": (extract_with("top_n"), (*NO_COUNT, 0.0, 1.0, -0.5, float("inf"), "all")),
    "candidates": (extract_with("candidates"), NO_PHRASES),
    "stop_phrases": (extract_with("stop_phrases"), (*NO_PHRASES, None)),
    "max_candidate_words": (extract_with("max_candidate_words"), NO_COUNT),
    "merge": (extract_with("merge"), NO_TRUTH),
    "diversity": (extract_with("diversity"), (NAN, -0.1, 1.1, "0.5", None, True, [0.5], b"")),
    "source": (extract_with("source"), STRANGE),
    "pages": (extract_with("pages"), ("12", 3, None, [1.5], ["0"], [-1], [5, 3], [None], {0: 1}, [True])),
    "texts": (lambda v: list(make().extract_many(v)), ("text", b"text", None, 5, {"a": TEXT}, [None], [b"text"], [5])),
    "candidates of many": (lambda v: list(make().extract_many([TEXT], candidates=v)), ("ice", 5, b"ice", {}, [5])),
    "progress": (lambda v: list(make().extract_many([TEXT], progress=v)), NO_TRUTH),
    "an option of many": (lambda v: list(make().extract_many([TEXT], **option(v))), ("topn", "text", "candidate")),
    "methods": (lambda v: make().explain(TEXT, v), ("yake", 5, [5], b"yake", ["nosuch"])),
    "gold": (lambda v: make().explain(TEXT, gold=v), (*NO_PHRASES, None)),
    "an option of explain": (lambda v: make().explain(TEXT, **option(v)), ("topn", "candidate")),
    "window": (make_with("window"), ("1", 1.5, None, True, [1], b"1", NAN)),
    "input of a corpus": (lambda v: run(v, "out.jsonl", method="yake"), (None, 5, b"in.jsonl", {"a": 1}, [5])),
    "output of a corpus": (lambda v: run("in.jsonl", v, method="yake"), (None, 5, b"out.jsonl", ["out.jsonl"], "")),
    "columns": (lambda v: run("in.jsonl", "out.jsonl", columns=v), (None, "text", {"text": "a"}, Columns(text=5))),  # type: ignore[arg-type]
    "form": (lambda v: run("in.jsonl", "out", form=v), ("xlsx", 5, b"jsonl")),
    "part_rows": (lambda v: run("in.jsonl", "out.jsonl", part_rows=v), (*NO_COUNT, None)),
    "restart": (lambda v: run("in.jsonl", "out.jsonl", restart=v), NO_TRUTH),
    "engine": (lambda v: run("in.jsonl", "out.jsonl", engine=v), (None, "dask", 5, ["ray"])),
    "actors": (lambda v: run("in.jsonl", "out.jsonl", actors=v), NO_COUNT),
    "options": (lambda v: run("in.jsonl", "out.jsonl", options=v), (5, "top_n", [1], {"topn": 3}, {"source": "a"})),
    "path": (load, (None, 5, b"data.jsonl", ["data.jsonl"])),
    "limit": (lambda v: load("data.jsonl", limit=v), NO_COUNT),
    "form of data": (lambda v: load("data.jsonl", v), (5, b"mudy", "other", ["mudy"])),
    "k": (lambda v: F1 @ v, (0, -1, 1.5, "5", None, True)),
    "predictions": (lambda v: Predictions("a", v, ["ice"]), NO_PHRASES),
}
TABLE = [(name, value) for name, (_, values) in CASES.items() for value in values]


@pytest.mark.parametrize(("name", "value"), TABLE, ids=lambda v: v if isinstance(v, str) and " " in v else None)
def test_an_argument_of_a_wrong_type_or_size_is_an_error_of_ours(
    name: str, value: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.jsonl").write_text('{"id": "1", "text": "sea ice"}\n')
    (tmp_path / "data.jsonl").write_text('{"id": "1", "text": "sea ice", "keyphrases": ["ice"]}\n')
    with pytest.raises((InputError, SettingError)) as caught:
        CASES[name][0](value)
    assert len(str(caught.value)) < 700
    assert not (tmp_path / "out.jsonl").exists()


def test_there_are_many_cases() -> None:
    assert len(TABLE) > 300


@pytest.mark.parametrize(
    ("name", "value", "needed"),
    [
        ("threads", 0, "threads is 0, but must be a whole number from 1 up or None"),
        ("threads", "2", r"threads is '2' \(str\), but must be a whole number"),
        ("dtype", "half", r"dtype is 'half' .* must be 'float32' or 'bfloat16' or 'float16' or None"),
        ("model", Path("here"), r"model is PosixPath\('here'\) .* must be a str|WindowsPath"),
        ("window", 1.5, "window is 1.5, but must be a whole number"),
        ("language", 5, "language is 5, but must be 'auto', a code"),
    ],
)
def test_the_error_names_the_argument_what_was_seen_and_what_is_needed(name: str, value: Any, needed: str) -> None:
    with pytest.raises(SettingError, match=needed):
        make(**{name: value})


def test_numbers_of_numpy_are_numbers() -> None:
    made = make(max_words=np.int64(50), window=np.int32(2), threads=np.int64(1))
    assert type(made.settings["window"]) is int
    assert type(made.max_words) is int
    two, half, true, pages = (of_numpy for of_numpy in (np.int64(2), np.float32(0.5), np.True_, [np.int64(0)]))
    found = made.extract(TEXT, two, diversity=half, pages=pages, merge=true)  # type: ignore[arg-type]
    assert len(found.keyphrases) == 2
    assert made.extract(TEXT, np.float64(0.5)).keyphrases


def test_a_list_is_a_tuple_where_a_setting_is_one() -> None:
    assert Extractor("mudy", sam_layers=[1, 2], language=english()).settings["sam_layers"] == (1, 2)


@pytest.mark.parametrize("method", METHODS)
def test_every_setting_accepts_its_default_and_refuses_what_is_of_no_type_of_its_own(method: str) -> None:
    for name, default in settings_of(method).items():
        assert make(method=method, **{name: default}).settings[name] == default
        with pytest.raises(SettingError, match=name):
            make(method=method, **{name: object()})
    assert method_class(method)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (int | None, "a whole number or None"),
        (tuple[float, float], "a list of 2, each a number"),
        (tuple[int, ...], "a list, each a whole number"),
        (bool, "True or False"),
    ],
)
def test_types_are_told_in_words(kind: Any, words: str) -> None:
    assert type_in_words(kind) == words


def test_a_whole_number_is_a_number_and_stays_what_it_is() -> None:
    assert fit_value(1, float) == 1
    assert type(fit_value(1, float)) is int


def test_errors_of_arguments_are_of_our_tree() -> None:
    assert issubclass(InputError, MudyError)
    assert issubclass(SettingError, ValueError)
