"""An MCP server: an assistant asks for keyphrases, for an explanation of a score, and for the text of a document.

`mudy mcp` runs it over standard input and output; `mudy serve` offers the same tools at /mcp, computed by its queue.
All tools only read. Documents are read from folders that the user has opened, and never by the service.
"""

import inspect
import os
import stat
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from inspect import Parameter
from pathlib import Path
from typing import Any, Protocol, Self, TypeVar, cast

import anyio.to_thread

from mudy import __version__
from mudy._support.extras import from_extra
from mudy._support.validation import options_of
from mudy.errors import InputError, MudyError, SettingError, unknown
from mudy.extraction.options import DEFAULT_METHOD, Options, RankingFocus
from mudy.extraction.ranking import variant_key
from mudy.integrations.extraction import check_plain_settings, results_of, shared_extractor
from mudy.methods import METHODS, STYLES_IN_WORDS, description
from mudy.reading import formats as readers
from mudy.reading.document import squeeze
from mudy.reading.formats import Reading

with from_extra("mcp"):
    from mcp.server import MCPServer
    from mcp.server.mcpserver import Context
    from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
    from mcp_types import Tool, ToolAnnotations
    from pydantic import BaseModel

F = TypeVar("F", bound=Callable[..., Any])
INSTRUCTIONS = (
    "Keyphrases of texts, found by a language model without training data. Every phrase occurs in the text at the "
    "offsets given (Unicode code points, end exclusive). "
    f"The method mudyplus has styles: {STYLES_IN_WORDS}."
)
CONTEXT = 60  # characters shown on either side of an occurrence
MOST_SHOWN = 10  # occurrences of a phrase that are explained
CHARACTERS = 20_000  # of a document that one call gives, unless it asks for more or less
MOST_CHARACTERS = 200_000
MOST_BYTES = 100_000_000  # of one file
_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


class KeyphraseBackend(Protocol):
    default_method: str

    @property
    def methods(self) -> Sequence[str]:
        """The methods that can be requested."""

    async def extracted(self, text: str, options: dict[str, Any], method: str) -> dict[str, Any]:
        """A result, as `Result.to_dict` gives it."""

    async def explained(self, text: str, phrase: str, focus: dict[str, Any], method: str) -> dict[str, Any]:
        """All phrases of a text with their parts, and where one phrase occurs, as `Explanation.to_dict` gives them."""


class LocalBackend:
    """Computes in this process, one text at a time."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.settings = settings
        self.default_method: str = settings.get("method", DEFAULT_METHOD)
        self.methods = tuple(METHODS)
        check_plain_settings(settings)

    async def extracted(self, text: str, options: dict[str, Any], method: str) -> dict[str, Any]:
        settings = self._settings(method, options)
        (result,) = await anyio.to_thread.run_sync(lambda: list(results_of([text], settings)))
        return result.to_dict()

    async def explained(self, text: str, phrase: str, focus: dict[str, Any], method: str) -> dict[str, Any]:
        settings = self._settings(method, focus)

        def explain() -> dict[str, Any]:
            shared = shared_extractor(settings)
            with shared.turn:
                return shared.extractor.explain(text, gold=[phrase], style=settings.get("style")).to_dict()

        return await anyio.to_thread.run_sync(explain)

    def _settings(self, method: str, options: dict[str, Any]) -> dict[str, Any]:
        """What a call names, else what the server has; another method may lack the speed, style or history of its."""
        lacking = () if method == self.default_method else ("speed", "style", "history")
        kept = {name: value for name, value in self.settings.items() if name not in lacking}
        named = {name: value for name, value in options.items() if value is not None}
        return {**kept, "method": method, **named}


@dataclass(frozen=True)
class OpenFolders:
    """Folders whose documents may be read: no hidden files, no links that lead outside, no other kinds of files."""

    folders: tuple[Path, ...]

    @classmethod
    def of(cls, names: Iterable[str]) -> Self:
        folders = []
        for name in names:
            folder = Path(name).expanduser()
            if not folder.is_dir():
                raise SettingError(f"{name!r} is not a folder, so no documents can be read from it.")
            folders.append(folder.resolve())
        return cls(tuple(folders))

    def read(self, name: str) -> Reading:
        """The text of a document; a path that is not absolute is looked for in each folder."""
        path = self._located(name)
        if path.suffix.lower() not in readers.endings():
            raise InputError(f"{name!r} is not a supported document. Supported: {', '.join(readers.endings())}.")
        try:
            return readers.read(_bytes(path), path.name)
        except InputError as error:
            raise InputError(f"{name!r} {error}") from None

    def _located(self, name: str) -> Path:
        """The file with all links resolved; a file outside the folders gives the same error as a missing one."""
        for folder in self.folders:
            try:
                path = (folder / name).resolve(strict=True)
            except (OSError, ValueError, RuntimeError):  # missing, a NUL character, a loop of links
                continue
            for opened in self.folders:
                inside = path.relative_to(opened).parts if path.is_relative_to(opened) else (".",)
                if path.is_file() and not any(part.startswith(".") for part in inside):  # hidden, or outside
                    return path
        if not self.folders:
            raise InputError("No file can be read. Start the server with --folder FOLDER, or send the text.")
        opened_names = ", ".join(map(str, self.folders))
        raise InputError(f"There is no document {name!r} in the folders that may be read: {opened_names}.")


def _bytes(path: Path) -> bytes:
    """The bytes of a regular file that is not too large; a link put in its place meanwhile is not followed."""
    try:
        descriptor = os.open(path, _FLAGS)
    except OSError as error:
        raise InputError(f"cannot be opened ({error.strerror or error})") from None
    with os.fdopen(descriptor, "rb") as stream:
        state = os.fstat(descriptor)
        if not stat.S_ISREG(state.st_mode):
            raise InputError("is not a regular file")
        if state.st_size > MOST_BYTES:
            raise InputError(f"has {state.st_size:,} bytes, but at most {MOST_BYTES:,} are read")
        return stream.read(MOST_BYTES)


class PhraseSummary(BaseModel):
    rank: int
    text: str
    score: float
    variants: list[str]
    start: int | None  # of the best occurrence
    end: int | None
    occurrences: int
    source: str  # "text"; "history" for a tag of similar texts that does not occur in this one


class SectionSummary(BaseModel):
    heading: str | None
    start: int
    end: int
    keyphrases: list[PhraseSummary]


class PhraseList(BaseModel):
    keyphrases: list[PhraseSummary]
    sections: list[SectionSummary]  # with per_section
    method: str
    model: str | None
    language: str | None
    words: int
    warnings: list[str]


class ExplainedOccurrence(BaseModel):
    start: int
    end: int
    context: str
    score: float
    parts: dict[str, float]


class PhraseExplanation(BaseModel):
    phrase: str
    rank: int | None  # None: it is not ranked, see note
    ranked_phrases: int
    score: float | None
    note: str
    occurrences: list[ExplainedOccurrence]
    parts: dict[str, str]  # what each part of a score means


class DocumentText(BaseModel):
    text: str
    start: int
    characters: int  # of the whole document
    next_start: int | None  # where to read on; None: the document ends here
    pages: list[int]  # offsets at which pages begin, if it has pages


class MethodSummary(BaseModel):
    name: str
    title: str
    description: str
    needs: list[str]
    default: bool


class MethodList(BaseModel):
    methods: list[MethodSummary]


class StrictServer(MCPServer[Any]):  # type: ignore[misc]
    """Refuses arguments that a tool does not have, which MCPServer ignores, and says what was wrong with a call."""

    async def list_tools(self) -> list[Tool]:
        tools: list[Tool] = await super().list_tools()
        for tool in tools:
            tool.input_schema["additionalProperties"] = False
        return tools

    async def call_tool(self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None) -> Any:
        known = {tool.name: list(tool.input_schema["properties"]) for tool in await self.list_tools()}
        for argument in arguments:
            if argument not in known.get(name, arguments):
                raise ToolError(unknown("argument", argument, known[name] or ["none"]))
        try:
            return await super().call_tool(name, arguments, context)
        except UnexpectedToolError as error:
            if isinstance(error.__cause__, MudyError):
                raise ToolError(f"{error}: {error.__cause__}") from error.__cause__
            raise


def with_declared(*declaring: type) -> Callable[[F], F]:
    """Give a tool the options that dataclasses declare for assistants, in place of its `**options`."""
    declared = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=option.default, annotation=option.assistants)
        for declaration in declaring
        for name, option in options_of(declaration).items()
        if option.assistants is not None
    ]

    def decorate(tool: F) -> F:
        signature = inspect.signature(tool, eval_str=True)
        *others, _ = signature.parameters.values()
        tool.__signature__ = signature.replace(parameters=[*others, *declared])  # type: ignore[attr-defined]
        return tool

    return decorate


def keyphrase_server(backend: KeyphraseBackend, folders: OpenFolders | None = None) -> MCPServer[Any]:
    """An MCP server with the tools; files can be read only where folders are given, and only in these."""
    server = StrictServer("mudy", title="MUDY", version=__version__, instructions=INSTRUCTIONS, log_level="WARNING")

    def tool(title: str, name: str | None = None) -> Callable[[F], F]:
        reads = {"read_only_hint": True, "destructive_hint": False, "idempotent_hint": True, "open_world_hint": False}
        return cast(Callable[[F], F], server.tool(name, annotations=ToolAnnotations(title=title, **reads)))

    async def of_text(text: str, method: str | None = None, **options: Any) -> PhraseList:
        """The keyphrases of a text, best first, each with its score and offsets. See list_methods."""
        result = await backend.extracted(text, options, _method(backend, method))
        sections = [part | {"keyphrases": [*map(_summary, part["keyphrases"])]} for part in result.get("sections", [])]
        about = {"words": result["coverage"]["words"], "warnings": result.get("warnings", []), "sections": sections}
        return PhraseList(**result | about | {"keyphrases": [*map(_summary, result["keyphrases"])]})

    async def of_text_or_document(
        text: str | None = None, path: str | None = None, method: str | None = None, **options: Any
    ) -> PhraseList:
        """The keyphrases of a text, or of the document at a path, best first, each with its score and offsets.

        Documents are plain text, mark-up, PDF, HTML, mail or office files in the folders that were opened; offsets
        refer to the text that read_document returns. See list_methods.
        """
        if text is not None and path is None:
            return await of_text(text, method, **options)
        if folders is None or path is None or text is not None:
            raise InputError("Give either text or path.")
        reading = await anyio.to_thread.run_sync(folders.read, path)
        return await of_text(reading.text, method, **options, blocks=reading.blocks)

    extract_keyphrases: Callable[..., Any] = of_text if folders is None else of_text_or_document
    tool("Extract keyphrases", "extract_keyphrases")(with_declared(Options, RankingFocus)(extract_keyphrases))

    @tool("Explain a phrase")
    @with_declared(RankingFocus)
    async def explain_phrase(text: str, phrase: str, method: str | None = None, **focus: Any) -> PhraseExplanation:
        """Why a phrase of a text has its rank: its score, the parts of that score, and its occurrences."""
        if not phrase.strip():
            raise InputError("The phrase is empty. Give a phrase of the text.")
        return _explanation(await backend.explained(text, phrase, focus, _method(backend, method)), text, phrase)

    @tool("List methods")
    def list_methods() -> MethodList:
        """The available methods, with what each does and which models it needs."""
        default = backend.default_method
        return MethodList(
            methods=[MethodSummary(**description(name), default=name == default) for name in backend.methods]
        )

    if folders is not None and folders.folders:

        @tool("Read a document")
        def read_document(path: str, start: int = 0, characters: int = CHARACTERS) -> DocumentText:
            """The text of a document (text, mark-up, PDF, HTML, mail, office) in the opened folders, or part of it."""
            if start < 0 or not 1 <= characters <= MOST_CHARACTERS:
                raise InputError(f"start must be 0 or more, and characters between 1 and {MOST_CHARACTERS:,}.")
            reading = folders.read(path)
            end, length = start + characters, len(reading.text)
            further = end if end < length else None
            part, pages = reading.text[start:end], list(reading.pages)
            return DocumentText(text=part, start=start, characters=length, next_start=further, pages=pages)

    return server


def _method(backend: KeyphraseBackend, name: str | None) -> str:
    if name is not None and name not in backend.methods:
        raise InputError(f"There is no method {name!r}. Known: {', '.join(backend.methods)}.")
    return name or backend.default_method


def _summary(keyphrase: dict[str, Any]) -> PhraseSummary:
    occurrences = keyphrase["occurrences"]
    best = occurrences[0] if occurrences else {"start": None, "end": None}
    about = {"start": best["start"], "end": best["end"], "occurrences": len(occurrences)}
    return PhraseSummary(**{"source": "text"} | keyphrase | about)


def _explanation(explanation: dict[str, Any], text: str, phrase: str) -> PhraseExplanation:
    (method,) = explanation["methods"]
    (gold,) = explanation["gold"]
    ranked = method["keyphrases"]
    language = method["language"] or "en"
    wanted = variant_key(squeeze(phrase), language)
    forms = ((k, (k["text"], *k["variants"])) for k in ranked)
    keyphrase = next((k for k, texts in forms if wanted in [variant_key(form, language) for form in texts]), None)
    about: dict[str, Any] = {"phrase": phrase, "rank": None, "score": None, "occurrences": [], "parts": {}, "note": ""}
    if keyphrase is None:
        note = "It occurs in the text but is not ranked: it is not a noun phrase, or a better phrase says the same."
        about["note"] = note if gold["places"] else "It does not occur in the text."
    else:
        shown = keyphrase["occurrences"][:MOST_SHOWN]
        if more := len(keyphrase["occurrences"]) - len(shown):
            about["note"] = f"{more} more occurrences are not shown."
        about |= {"phrase": keyphrase["text"], "rank": keyphrase["rank"], "score": keyphrase["score"]}
        about["occurrences"] = [_explained_occurrence(occurrence, text) for occurrence in shown]
        about["parts"] = {part["name"]: part["words"] for part in description(method["method"])["parts"]}
    return PhraseExplanation(**about, ranked_phrases=len(ranked))


def _explained_occurrence(occurrence: dict[str, Any], text: str) -> ExplainedOccurrence:
    context = squeeze(text[max(0, occurrence["start"] - CONTEXT) : occurrence["end"] + CONTEXT])
    parts = {name: value for name, value in occurrence.items() if name not in ("start", "end", "page", "score")}
    return ExplainedOccurrence(**occurrence | {"context": context, "parts": parts})
