"""What a plain text is made of: headings, code, quotations and boilerplate, by their marks; ordinary prose has none."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, pairwise
from typing import NamedTuple

from mudy.reading.document import Block, BlockKind, Span, not_prose

LONGEST_HEADING = 100  # characters
_LOG_LINES = 20  # at least, of a log
_LOG_SHARE = 0.5  # of lines that begin with a time

ATX = re.compile(r"(#{1,6})[ \t]+(\S.*)")
UNDERLINE = re.compile(r"([=\-~^\"'*+#`:._])\1{2,}(?: \1+)*")
FENCE = re.compile(r"\s{0,3}(`{3,20}|~{3,20})")
NUMBERED = re.compile(
    r"(?:(?:Chapter|Section|Article|Part|§) ?)?(\d{1,2}(?:\.\d{1,2}){0,4})[.):]{0,2}\s{1,4}[^\W\d_].*"
)
MAIL_HEADER = re.compile(r"([A-Z][A-Za-z-]{1,30}): ?(.*)")
MAIL_HEADERS = frozenset(["from", "to", "cc", "subject", "date", "message-id", "in-reply-to", "references", "reply-to"])
MAN_HEAD = re.compile(r"([A-Z][\w.:+-]{0,60}\(\d\w{0,5}\))\s.*\1")
OPTIONS = re.compile(r"\s{1,20}(--?[\w?]\S{0,60}(?:,? --?\S{1,60}){0,5})")
MAN_BOILERPLATE = ("AUTHOR", "AUTHORS", "COPYRIGHT")  # sections
PROMPT = re.compile(r"\$ (?:[a-z]{2}|[.~]{0,2}/)")  # of a shell
ATTRIBUTION = re.compile(r"(?:On|Am|Le|El|Op|Den|Dne) \S.{5,200}:")
STAMP = re.compile(  # the time at the beginning of a line: of a message in a chat, with its writer, or of a log
    r"\[?(?:\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}|[A-Z][a-z]{2} {1,2}\d{1,2})[,T ]{1,2}\d{1,2}:\d\d(?::\d\d)?\S{0,15}\s"
)
WRITER = re.compile(r"(?:- )?[^:\n]{1,40}: ")
CONTENTS = re.compile(
    r"(?:table of )?contents|inhaltsverzeichnis|table des matières|índice|indice|sommaire|目录|目次", re.I
)
COLUMNS = re.compile(r"\S(?: {3}|\t)|\||://")  # in a line that is a row of a table, or has an address
REFERENCES = re.compile(  # headings of lists of other works
    r"(?:(?:\d{1,2}|[A-Z])\.?\s{1,4})?(?:references|bibliography|(?:literature|works) cited|external links|"
    r"further reading|"
    r"literatur(?:verzeichnis)?|bibliographie|références|referencias|bibliograf[íi]a|参考文献|참고 ?문헌)",
    re.I,
)
ENTRY = re.compile(r"\s+\S|[-*•?o]\s|\d{1,2}(?:\.\d{1,2})*[.)]?\s|.*\.{4}")
GRANT = re.compile(  # what a licence says, and few other texts do
    r"permission is hereby granted|permitted to copy|may be copied|redistribution and use|licensed under|"
    r"without (?:any )?warranty|all rights reserved|under the terms of (?:the|this)|creative commons|"
    r"(?:this|public) licen[sc]e",
    re.I,
)
LICENCE_WORD = re.compile(
    r"(?:sub)?licen[sc]\w*|copy(?:right|left)\w*|cop(?:y|ies)|(?:re)?distribut\w*|warrant\w*|merchantability|liab\w*|"
    r"infring\w*|disclaim\w*|permi(?:t|ssion)\w*|patents?|software|programs?|derivative|modif\w*|rights|terms|"
    r"grant\w*|hereby|herein|shall|notices?|convey\w*|covered work|source code|GNU|GPL|LGPL|AGPL|MIT|BSD|Apache|"
    r"eBook|Gutenberg",
    re.I,
)
LICENCE_SHARE = 0.04  # of the words of a licence, at least, are of these
LICENCE_GAP = 150  # words of a licence without any of these, at most
LEAST_TEXT = 60  # words beside a licence that make it an appendage, less than LICENCE_SHARE / 2 of them of a licence


class Line(NamedTuple):
    """A line of a text, without its end."""

    start: int
    text: str  # with its indentation
    words: str  # without white space around it

    def block(self, kind: BlockKind, level: int = 0) -> Block:
        """The block of this line alone, without white space around it."""
        start = self.start + len(self.text) - len(self.text.lstrip())
        return Block(Span(start, start + len(self.words)), kind, level)


def prose_of(text: str, blocks: tuple[Block, ...]) -> str:
    """The text with spaces in place of all that is not prose, so that offsets stay."""
    parts: list[str] = []
    end = 0
    for span in not_prose(text, blocks):
        parts += (text[end : span.start], re.sub(r"[^\r\n]", " ", span.of(text)))
        end = span.end
    return "".join(parts) + text[end:] if parts else text


def cut_to(length: int, blocks: Iterable[Block]) -> tuple[Block, ...]:
    cut = (Block(Span(b.span.start, min(b.span.end, length)), b.kind, b.level) for b in blocks)
    return tuple(block for block in cut if block.span.start < block.span.end)


def blocks_of(text: str) -> tuple[Block, ...]:
    """The blocks of a plain text, in text order."""
    lines = list(lines_of(text))
    kinds: dict[int, Block] = {}  # the number of a line -> its block
    for rule in RULES:
        rule(lines, kinds)
    if any(block.kind == "heading" for block in kinds.values()):
        _first_line(lines, kinds)
    return finished(text, _joined(text, kinds))


LOG = "The text looks like a log, not prose: its keyphrases say little about it."
NUMBERS = "The text looks like a table of numbers, not prose: its keyphrases say little about it."


def unusual(text: str) -> str | None:
    """What a text is if it is not prose: a warning, or None."""
    lines = [line for line in text[:200_000].splitlines() if line.strip()]
    stamped = [match for line in lines if (match := STAMP.match(line))]
    chat = sum(bool(WRITER.match(match.string, match.end())) for match in stamped)
    if len(lines) >= _LOG_LINES and len(stamped) > _LOG_SHARE * len(lines) and not stamped[0].string.startswith("["):
        return LOG
    numbers = sum(sum(map(str.isdigit, line)) > sum(map(str.isalpha, line)) for line in lines)
    if len(lines) >= _LOG_LINES and numbers > 0.7 * len(lines) and not chat:
        return NUMBERS
    return None


def finished(text: str, blocks: Sequence[Block]) -> tuple[Block, ...]:
    """Blocks with a title, if one of the headings is one, and with lists of references as boilerplate."""
    headings = [block for block in blocks if block.kind in ("title", "heading")]
    title = next(iter(headings), None)
    if title is not None and all(block.kind == "heading" and block.level >= title.level for block in headings):
        peers = sum(block.level == title.level for block in headings)
        before = sum(block.span.end - block.span.start for block in blocks if block.span.end <= title.span.start)
        if peers == 1 or title.span.start - before <= LONGEST_HEADING:
            blocks = [Block(b.span, "title", b.level) if b is title else b for b in blocks]
    return tuple(_without_references(text, blocks))


def _without_references(text: str, blocks: Iterable[Block]) -> Iterator[Block]:
    """Blocks in which a section of references, up to the next heading that is not below its own, is one block."""
    references: Block | None = None  # the heading of the section, while within it
    headed = False  # whether there was a heading before, and so text
    end = Block(Span(len(text), len(text)), "heading")  # below none
    for block in (*blocks, end):
        heading = block.kind in ("title", "heading")
        if references is not None and heading and block.level <= references.level:
            if references.span.end < block.span.start:
                yield Block(Span(references.span.end, block.span.start), "boilerplate")
            references = None
        if references is None and block is not end:
            yield block
            references = block if headed and heading and REFERENCES.fullmatch(block.span.of(text)) else None
        headed = headed or heading


def lines_of(text: str) -> Iterator[Line]:
    start = 0
    for line in text.splitlines(keepends=True):
        yield Line(start, line.rstrip("\r\n"), line.strip())
        start += len(line)


def _joined(text: str, kinds: dict[int, Block]) -> list[Block]:
    """The blocks in order; neighbouring lines of code, quotation or boilerplate are one."""
    joined: list[Block] = []
    for block in (block for _, block in sorted(kinds.items()) if block.span.start < block.span.end):
        last = joined[-1] if joined else block
        between = text[last.span.end : block.span.start]
        if joined and last.kind == block.kind not in ("title", "heading") and not between.strip():
            joined[-1] = Block(Span(last.span.start, block.span.end), block.kind)
        else:
            joined.append(block)
    return joined


# -- Rules: each marks lines that no rule before it has marked --------------------------------------------------------


def _blank(lines: Sequence[Line], number: int) -> bool:
    return not 0 <= number < len(lines) or not lines[number].words


def _mail(lines: Sequence[Line], kinds: dict[int, Block]) -> None:
    """The header of a message at the beginning of a text, and its signature; the subject is the title."""
    headers: list[tuple[int, str]] = []
    for number, line in enumerate(lines):
        if match := MAIL_HEADER.match(line.text):
            headers.append((number, match[1].lower()))
        elif not headers or not line.text[:1].isspace() or not line.words:
            break
    if len({name for _, name in headers} & MAIL_HEADERS) < 2:
        return
    ending = range(len(lines) - 1, max(len(lines) - 16, 0), -1)
    signature = next((number for number in ending if lines[number].text == "-- "), len(lines))
    for number in (*range(headers[0][0], headers[-1][0] + 1), *range(signature, len(lines))):
        kinds[number] = lines[number].block("boilerplate")
    for number, name in headers:
        if name == "subject" and (value := lines[number].text[8:].strip()):
            start = lines[number].start + len(lines[number].text) - len(lines[number].text[8:].lstrip())
            kinds[number] = Block(Span(start, start + len(value)), "title", 1)


def _licence(lines: Sequence[Line], kinds: dict[int, Block]) -> None:
    """The licence before or after a text that is not about licences: the paragraphs that hold most of its words."""
    if not GRANT.search(" ".join(line.words for line in lines)):
        return
    paragraphs = [list(rows) for filled, rows in groupby(range(len(lines)), lambda n: bool(lines[n].words)) if filled]
    words = [sum(len(lines[n].words.split()) for n in rows) for rows in paragraphs]
    hits = [sum(len(LICENCE_WORD.findall(lines[n].words)) for n in rows) for rows in paragraphs]
    for order in (range(len(paragraphs)), range(len(paragraphs) - 1, -1, -1)):
        run = _densest([hits[n] - LICENCE_SHARE * words[n] for n in order])
        licence, rest = order[run], (*order[: run.start], *order[run.stop :])
        left = sum(words[n] for n in rest)
        foreign = left >= LEAST_TEXT and sum(hits[n] for n in rest) < LICENCE_SHARE / 2 * left
        held = sorted(n for paragraph in licence for n in paragraphs[paragraph] if n not in kinds)
        if foreign and GRANT.search(" ".join(lines[n].words for n in held)):
            kinds.update({n: lines[n].block("boilerplate") for n in held})


def _densest(excess: Sequence[float]) -> slice:
    """The run of paragraphs with the highest sum, before the sum of all so far falls by a long gap."""
    sums, end = [0.0], 0
    for value in excess:
        sums.append(sums[-1] + value)
        if sums[-1] > sums[end]:
            end = len(sums) - 1
        elif sums[-1] < sums[end] - LICENCE_SHARE * LICENCE_GAP:
            break
    return slice(min(range(end + 1), key=sums.__getitem__), end)


def _fenced(lines: Sequence[Line], kinds: dict[int, Block]) -> None:
    """Code between two fences; an open fence marks nothing."""
    fence, opened = "", 0
    for number, line in enumerate(lines):
        match = FENCE.match(line.text)
        if not fence and match:
            fence, opened = match[1], number
        elif fence and match and match[1].startswith(fence) and line.words == match[1]:
            kinds.update({n: lines[n].block("code") for n in range(opened, number + 1)})
            fence = ""


def _quoted(lines: Sequence[Line], kinds: dict[int, Block]) -> None:
    """Two or more lines in a row that begin with >, and who wrote them; lines at a prompt."""
    for number, line in enumerate(lines):
        if line.text.startswith(">>> ") or PROMPT.match(line.words):
            kinds.setdefault(number, line.block("code"))
        elif line.text.startswith(">"):
            beside = (n for n in (number - 1, number + 1) if 0 <= n < len(lines))
            if any(lines[n].text.startswith(">") for n in beside):
                kinds.setdefault(number, line.block("quotation"))
                above = number - 1 if not _blank(lines, number - 1) else number - 2
                if above >= 0 and ATTRIBUTION.fullmatch(lines[above].words):
                    kinds.setdefault(above, lines[above].block("boilerplate"))


def _man_page(lines: Sequence[Line], kinds: dict[int, Block]) -> None:
    """The head and foot of a manual page, its synopsis and its options; its title is what its section NAME says."""
    first = next((n for n, line in enumerate(lines) if line.words), 0)
    if not lines or not MAN_HEAD.fullmatch(lines[first].words):
        return
    kinds[first] = lines[first].block("boilerplate")
    section = ""
    for number, line in enumerate(lines[first + 1 :], first + 1):
        if line.words and not line.text[0].isspace():
            section = line.words
            kinds[number] = line.block("heading", 1) if section.isupper() else line.block("boilerplate")
        elif section == "NAME" and line.words and not any(block.kind == "title" for block in kinds.values()):
            kinds[number] = line.block("title")
        elif section in MAN_BOILERPLATE:
            kinds[number] = line.block("boilerplate")
        elif section == "SYNOPSIS":
            kinds[number] = line.block("code")
        elif match := OPTIONS.match(line.text):
            kinds[number] = Block(Span(line.start + match.start(1), line.start + match.end(1)), "code")


def _stamped(lines: Sequence[Line], kinds: dict[int, Block]) -> None:
    """The times and writers of messages in a chat."""
    stamps = {n: match for n, line in enumerate(lines) if (match := STAMP.match(line.text))}
    if len(stamps) < max(5, _LOG_SHARE * sum(bool(line.words) for line in lines)):
        return
    for number, match in stamps.items():
        writer = WRITER.match(match.string, match.end())
        end = (writer or match).end()
        kinds.setdefault(number, Block(Span(lines[number].start, lines[number].start + end), "boilerplate"))


def _underlined(lines: Sequence[Line], kinds: dict[int, Block]) -> None:
    """Headings with a line of marks below them, perhaps also above; the styles are levels in order of appearance."""
    levels: dict[str, int] = {}
    for number, line in enumerate(lines[1:], 1):
        match, title = UNDERLINE.fullmatch(line.words), lines[number - 1]
        if match is None or number - 1 in kinds or not _is_heading(title.words) or "  " in title.words:
            continue
        above = lines[number - 2].words if number > 1 else ""
        overlined = above != "" and above == line.words
        if (above == "" or overlined) and len(line.words) >= 0.6 * len(title.words):
            level = levels.setdefault(match[1] + "+" * overlined, len(levels) + 1)
            kinds[number - 1] = title.block("heading", min(level, 6))


def _marked(lines: Sequence[Line], kinds: dict[int, Block]) -> None:
    """Headings of Markdown (## Usage); not rows of such lines, nor those in a text with numbered headings: comments."""
    if any(block.kind == "heading" and NUMBERED.fullmatch(lines[n].words) for n, block in kinds.items()):
        return
    for number, line in enumerate(lines):
        match = ATX.fullmatch(line.text)
        if not match or number in kinds or not _blank(lines, number - 1) or len(line.text) > 2 * LONGEST_HEADING:
            continue
        if _blank(lines, number + 1) or not lines[number + 1].text.startswith("#"):
            start = line.start + match.start(2)
            title = match[2].rstrip("# ")
            kinds[number] = Block(Span(start, start + len(title)), "heading", len(match[1]))


def _numbered(lines: Sequence[Line], kinds: dict[int, Block]) -> None:
    """Numbered headings between blank lines: two or more that count upwards and are no list, with text between them."""
    found: list[tuple[int, str]] = []
    for number, line in enumerate(lines):
        match = None if line.text[:1].isspace() else NUMBERED.fullmatch(line.words)
        alone = _blank(lines, number - 1) and _blank(lines, number + 1)
        if match and alone and number not in kinds and _is_heading(line.words) and line.words[-1] not in ".;,":
            found.append((number, match[1]))
    tops = [(number, label) for number, label in found if "." not in label.rstrip(".0")]
    apart = [b[0] - a[0] > 2 for a, b in pairwise(tops)]
    rising = all(int(a[1].split(".")[0]) < int(b[1].split(".")[0]) for a, b in pairwise(tops))
    if len(found) > 1 and rising and sum(apart) >= 0.5 * len(apart):
        for number, label in found:
            kinds[number] = lines[number].block("heading", min(label.rstrip(".0").count(".") + 1, 6))


def _capitals(lines: Sequence[Line], kinds: dict[int, Block]) -> None:
    """Headings in capital letters after a blank line, where the rest of the text is not in capitals."""
    found = [
        number
        for number, line in enumerate(lines)
        if number not in kinds
        and _blank(lines, number - 1)
        and _is_heading(line.words)
        and line.words.isupper()
        and sum(map(str.isalpha, line.words)) > max(3, 0.6 * len(line.words))
    ]
    lower = sum(line.words != line.words.upper() for line in lines)
    alone = len(found) > 1 or (len(found) == 1 and _blank(lines, found[0] + 1))
    if alone and lower > len(found):
        kinds.update({number: lines[number].block("heading", 1) for number in found})


def _contents(lines: Sequence[Line], kinds: dict[int, Block]) -> None:
    """A table of contents, from its heading to the first line that is no entry."""
    for number, line in enumerate(lines[:200]):
        if CONTENTS.fullmatch(line.words.rstrip(":").strip("#* ")):
            kinds[number] = line.block("boilerplate")
            for inside in range(number + 1, len(lines)):
                entry = UNDERLINE.fullmatch(lines[inside].words) or ENTRY.match(lines[inside].text)
                if inside in kinds or not (entry or _blank(lines, inside)):
                    break
                kinds[inside] = lines[inside].block("boilerplate")
            return


def _first_line(lines: Sequence[Line], kinds: dict[int, Block]) -> None:
    """The first line is the title of a text with headings, if it stands alone and is no sentence."""
    first = next((n for n, line in enumerate(lines) if line.words and n not in kinds), None)
    headed = min((n for n, block in kinds.items() if block.kind in ("title", "heading")), default=0)
    if first is None or first > headed or not _blank(lines, first + 1):
        return
    if _is_heading(lines[first].words) and lines[first].words[-1] not in ".!?:;,":
        kinds[first] = lines[first].block("title")


def _is_heading(words: str) -> bool:
    letters = any(map(str.isalpha, words))
    return 1 < len(words) <= LONGEST_HEADING and letters and not words.startswith(">") and not COLUMNS.search(words)


RULES = (_mail, _licence, _fenced, _quoted, _man_page, _stamped, _underlined, _numbered, _marked, _capitals, _contents)
