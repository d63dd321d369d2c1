"""The MCP server over standard input and output, asked by the real client."""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from mudy import Extractor
from mudy.methods import METHODS
from tests.command_line import run
from tests.integrations.texts import EXAMPLES, TEXT

SECTIONS = f"# Rivers\n\n{'The ferry crosses the river. ' * 25}\n\n## Ice\n\n{'The ice road closes. ' * 30}"
CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "extract": ("extract_keyphrases", {"text": TEXT, "top_n": 4}),
    "another method": ("extract_keyphrases", {"text": TEXT, "top_n": 4, "method": "textrank"}),
    "sections": ("extract_keyphrases", {"text": SECTIONS, "per_section": True}),
    "empty text": ("extract_keyphrases", {"text": ""}),
    "unknown method": ("extract_keyphrases", {"text": TEXT, "method": "yakke"}),
    "wrong number": ("extract_keyphrases", {"text": TEXT, "top_n": -1}),
    "style of another method": ("extract_keyphrases", {"text": TEXT, "style": "terms"}),
    "unknown style": ("explain_phrase", {"text": TEXT, "phrase": "flood wall", "style": "subject"}),
    "explain": ("explain_phrase", {"text": TEXT, "phrase": "flood wall"}),
    "explain absent": ("explain_phrase", {"text": TEXT, "phrase": "submarine"}),
    "explain verb": ("explain_phrase", {"text": TEXT, "phrase": "were raised"}),
    "explain nothing": ("explain_phrase", {"text": TEXT, "phrase": "  "}),
    "methods": ("list_methods", {}),
    "extract from file": ("extract_keyphrases", {"path": "floodplain.txt", "top_n": 4}),
    "extract from pdf": ("extract_keyphrases", {"path": "paper.pdf", "top_n": 1}),
    "text of pdf": ("read_document", {"path": "paper.pdf", "characters": 200_000}),
    "extract outside": ("extract_keyphrases", {"path": "../pyproject.toml"}),
    "text and path": ("extract_keyphrases", {"text": TEXT, "path": "floodplain.txt"}),
    "no text": ("extract_keyphrases", {}),
    "unknown argument": ("extract_keyphrases", {"text": TEXT, "topn": 4}),
    "argument of another tool": ("list_methods", {"text": TEXT}),
    "read": ("read_document", {"path": "floodplain.txt", "characters": 100}),
    "read on": ("read_document", {"path": "floodplain.txt", "start": len(TEXT) - 100, "characters": 200}),
    "read outside": ("read_document", {"path": "../pyproject.toml"}),
    "read too much": ("read_document", {"path": "floodplain.txt", "characters": 10**9}),
}


def talk(conversation: Callable[[Client], Any], *options: str) -> Any:
    """What a conversation with `mudy mcp` in a process of its own gives."""

    async def converse() -> Any:
        arguments = ["-m", "mudy", "mcp", "--method", "yake", *options]
        command = StdioServerParameters(command=sys.executable, args=arguments, env=dict(os.environ))
        async with Client(stdio_client(command)) as client:
            return await conversation(client)

    return anyio.run(converse)


@pytest.fixture(scope="module")
def said() -> dict[str, Any]:
    """The answers to all calls, and the list of tools."""

    async def conversation(client: Client) -> dict[str, Any]:
        tools = (await client.list_tools()).tools
        return {"tools": tools} | {name: await client.call_tool(*call) for name, call in CALLS.items()}

    answers: dict[str, Any] = talk(conversation, "--folder", str(EXAMPLES))
    return answers


def structured(said: dict[str, Any], name: str) -> dict[str, Any]:
    assert not said[name].is_error, said[name].content
    content: dict[str, Any] = said[name].structured_content
    return content


def error(said: dict[str, Any], name: str) -> str:
    assert said[name].is_error
    return str(said[name].content[0].text)


def test_sections_have_lists_where_they_are_asked_for(said: dict[str, Any]) -> None:
    rivers, ice = structured(said, "sections")["sections"]
    assert (rivers["heading"], rivers["start"], rivers["end"]) == ("Rivers", 0, ice["start"])
    best = ice["keyphrases"][0]
    assert (best["text"], SECTIONS[best["start"] : best["end"]]) == ("ice road", "ice road")
    assert structured(said, "extract")["sections"] == []


def test_all_tools_only_read_and_describe_what_they_give(said: dict[str, Any]) -> None:
    assert {tool.name for tool in said["tools"]} == {
        "extract_keyphrases",
        "explain_phrase",
        "list_methods",
        "read_document",
    }
    for tool in said["tools"]:
        assert tool.annotations.read_only_hint
        assert not tool.annotations.open_world_hint
        assert tool.description
        assert tool.output_schema["properties"]


def test_keyphrases_are_those_of_an_extractor_and_stand_in_the_text(said: dict[str, Any]) -> None:
    content = structured(said, "extract")
    wanted = Extractor("yake").extract(TEXT, top_n=4)
    assert [(k["text"], k["score"]) for k in content["keyphrases"]] == wanted.as_tuples()
    assert all(TEXT[k["start"] : k["end"]] == k["text"] for k in content["keyphrases"])
    assert (content["method"], content["words"], content["warnings"]) == ("yake", len(TEXT.split()), [])


def test_keyphrases_of_a_file_are_those_of_its_text(said: dict[str, Any]) -> None:
    assert structured(said, "extract from file") == structured(said, "extract")


def test_offsets_in_a_pdf_refer_to_the_text_that_is_read_from_it(said: dict[str, Any]) -> None:
    (keyphrase,) = structured(said, "extract from pdf")["keyphrases"]
    occurrence = structured(said, "text of pdf")["text"][keyphrase["start"] : keyphrase["end"]]
    assert occurrence.split() == keyphrase["text"].split()


def test_schemas_of_tools_allow_no_other_arguments(said: dict[str, Any]) -> None:
    assert all(tool.input_schema["additionalProperties"] is False for tool in said["tools"])


def test_a_call_may_name_another_method(said: dict[str, Any]) -> None:
    wanted = Extractor("textrank").extract(TEXT, top_n=4)
    assert [k["text"] for k in structured(said, "another method")["keyphrases"]] == [k.text for k in wanted]


def test_an_empty_text_has_no_keyphrases(said: dict[str, Any]) -> None:
    assert structured(said, "empty text")["keyphrases"] == []


def test_a_phrase_is_explained_by_its_rank_its_places_and_its_parts(said: dict[str, Any]) -> None:
    content = structured(said, "explain")
    ranking = Extractor("yake").extract(TEXT, top_n=None)
    wanted = next(k for k in ranking if k.text == "flood walls")
    assert (content["phrase"], content["rank"], content["score"]) == ("flood walls", wanted.rank, wanted.score)
    assert content["ranked_phrases"] == len(ranking)
    (place,) = content["occurrences"]
    assert TEXT[place["start"] : place["end"]] == "flood walls"
    assert "flood walls" in place["context"]
    assert place["parts"].keys() <= content["parts"].keys()


def test_a_phrase_without_a_rank_is_told_why(said: dict[str, Any]) -> None:
    absent, verb = structured(said, "explain absent"), structured(said, "explain verb")
    assert (absent["rank"], absent["note"]) == (None, "It does not occur in the text.")
    assert verb["rank"] is None
    assert "occurs in the text but is not ranked" in verb["note"]


def test_the_methods_are_listed_with_the_default_marked(said: dict[str, Any]) -> None:
    methods = structured(said, "methods")["methods"]
    assert [method["name"] for method in methods] == list(METHODS)
    assert [method["name"] for method in methods if method["default"]] == ["yake"]


def test_a_document_is_read_in_parts(said: dict[str, Any]) -> None:
    first, last = structured(said, "read"), structured(said, "read on")
    assert (first["text"], first["next_start"], first["characters"]) == (TEXT[:100], 100, len(TEXT))
    assert (last["text"], last["next_start"]) == (TEXT[-100:], None)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("unknown method", "There is no method 'yakke'"),
        ("wrong number", "top_n is -1"),
        ("explain nothing", "The phrase is empty"),
        ("extract outside", "There is no document '../pyproject.toml'"),
        ("text and path", "Give either text or path"),
        ("no text", "Give either text or path"),
        (
            "unknown argument",
            "Unknown argument 'topn'. Did you mean 'top_n'? Known: method, path, per_section, style, text, top_n.",
        ),
        ("style of another method", "yake takes no style: only mudyplus has styles."),
        ("unknown style", "Input should be 'subjects', 'terms', 'keywords' or 'tags'"),
        ("argument of another tool", "Unknown argument 'text'. Known: none."),
        ("read outside", "There is no document '../pyproject.toml'"),
        ("read too much", "characters between 1 and 200,000"),
    ],
)
def test_the_assistant_reads_what_was_wrong(said: dict[str, Any], name: str, told: str) -> None:
    assert told in error(said, name)


def test_the_list_of_a_document_is_that_of_the_command(tmp_path: Path) -> None:
    text = f"# Flood walls\n\n{TEXT}\n\n```\nsudo gaugelog harbour monitor\nsudo gaugelog harbour monitor\n```\n"
    (tmp_path / "notes.md").write_text(text, encoding="utf-8")

    async def asked(client: Client) -> Any:
        return await client.call_tool("extract_keyphrases", {"path": "notes.md", "top_n": 40})

    answer = talk(asked, "--folder", str(tmp_path))
    done = run("extract", tmp_path / "notes.md", "--method", "yake", "-n", "40", "--format", "json", "--quiet")
    expected = [(k["text"], k["score"]) for k in json.loads(done.stdout)["keyphrases"]]
    assert [(k["text"], k["score"]) for k in answer.structured_content["keyphrases"]] == expected
    assert not any("gaugelog" in phrase for phrase, _ in expected)


def test_without_a_folder_no_file_is_read() -> None:
    async def asked(client: Client) -> tuple[set[str], Any]:
        tools = {tool.name for tool in (await client.list_tools()).tools}
        return tools, await client.call_tool("extract_keyphrases", {"path": str(EXAMPLES / "floodplain.txt")})

    tools, answer = talk(asked)
    assert tools == {"extract_keyphrases", "explain_phrase", "list_methods"}
    assert answer.is_error
    assert "No file can be read. Start the server with --folder" in answer.content[0].text
