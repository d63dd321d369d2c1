"""An explanation in a terminal: the text coloured by heat and the ranked list; without colour, marks in the text."""

from collections.abc import Iterator
from itertools import accumulate, groupby
from operator import attrgetter
from statistics import pstdev

from rich import box
from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from mudy.extraction.explanation import Explanation
from mudy.extraction.render.text_pieces import (
    STEPS,
    Mark,
    Ranked,
    coloured_pieces,
    ellipses,
    ranked,
    sanitized,
    shown,
    within,
)
from mudy.reading.document import Span

_LONG = 5000  # characters; of longer texts only passages are shown, unless the whole is asked for
_BETWEEN = 2  # between two columns of a list
_PHRASE, _LONGEST_PHRASE = 12, 24  # columns for a phrase: at least, and before it is broken for the sake of numbers
RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")

# Of the 256 colours that terminals agree on, for black letters. From dull to vivid, rather than from light to dark, so
# that they show on a black background as on a white one.
COLOURS = (251, 187, 223, 222, 221, 215, 209, 203)


def drawing(explanation: Explanation, console: Console, top_n: int | None = 15, whole: bool = False) -> RenderableType:
    """What `console.print` shows: for each method the text, and its list below."""
    view = _View(explanation, console, top_n, whole)
    title = sanitized(explanation.source or "").replace("\n", " ")
    blocks: list[RenderableType] = [Text(title), Text()] if title else []
    for index in range(len(explanation.methods)):
        blocks += [view.heading(index), view.text(index), view.ranking(index, console.width), Text()]
    return Group(*blocks, *view.notes())


class _View:
    def __init__(self, explanation: Explanation, console: Console, top_n: int | None, whole: bool) -> None:
        self.explanation, self.top_n = explanation, top_n
        self.coloured = console.color_system is not None and not console.no_color
        self.styled = console.color_system is not None  # bold and italics can be seen
        results = [method.result for method in explanation.methods]
        longest = len(explanation.text) if whole else _LONG
        self.shown = shown(explanation.text, results, top_n, longest)
        self.plain = sanitized(explanation.text)

    def heading(self, index: int) -> Text:
        method = self.explanation.methods[index]
        count = sum(len(phrase.occurrences) for phrase in method.result.keyphrases)
        model = f" with {sanitized(method.result.model)}" if method.result.model else ""
        phrases = f"{len(method.result.keyphrases):,} phrases, {count:,} occurrences"
        time = "" if method.seconds is None else f", {method.seconds:.1f} s"
        return Text.assemble((method.result.method, "bold"), f"{model}: {phrases}{time}\n")

    def text(self, index: int) -> Text:
        cut = coloured_pieces(self.explanation, self.explanation.methods[index].result, self.top_n)
        *before, after = ellipses(self.plain, self.shown)
        written = Text()
        for dots, span in zip(before, self.shown, strict=True):
            written.append(dots)
            for mark, run in groupby(within(cut, span), key=attrgetter("mark")):
                bracketed = mark is not None and not self.coloured
                written.append("[" if bracketed else "")
                for piece in run:
                    written.append(self._set_off(piece.span.of(self.plain), piece.gold), self._style(mark, piece.gold))
                written.append(f"]{str(mark.phrase.rank).translate(RAISED)}" if bracketed else "")
        return written.append(f"{after}\n")

    def _style(self, mark: Mark | None, gold: bool) -> str:
        words = ["bold italic"] if gold else []  # as in the paper
        if self.coloured and mark is not None:
            words.append(background(mark.step))
        return " ".join(words)

    def _set_off(self, letters: str, gold: bool) -> str:
        """Stars around gold where bold italics cannot be seen."""
        return f"*{letters}*" if gold and not self.styled else letters

    def ranking(self, index: int, width: int) -> Table:
        """The list, with as many parts of the scores as fit."""
        listed = ranked(self.explanation, index, self.top_n)
        hidden = hidden_parts(listed, width)
        columns = [column for column, name in enumerate(listed.head) if name not in hidden]
        drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, collapse_padding=True)
        for name in (listed.head[column] for column in columns):
            if name == "Keyphrase":
                drawn.add_column(name, min_width=_PHRASE)
            else:
                drawn.add_column(_folded(name), justify="right", no_wrap=True, overflow="fold")
        for row in listed.rows:
            cells = [Text(sanitized(row.cells[column])) for column in columns]
            cells[1] = Text(self._set_off(cells[1].plain, row.gold), self._style(None, row.gold))
            drawn.add_row(*cells)
        notes = [f"{listed.left:,} more: --top-n all"] if listed.left else []
        notes += [f"No room for {', '.join(hidden)}; --json and --html show them."] if hidden else []
        drawn.caption, drawn.caption_justify = "\n".join(notes) or None, "left"
        return drawn

    def notes(self) -> Iterator[Text]:
        if self.coloured:
            scale = Text("Scores: lowest ")
            for step in range(STEPS):
                scale.append("   ", background(step))
            yield scale.append(" highest.")
        else:
            yield Text(f"[phrase]{'7'.translate(RAISED)} is number 7 in the list.")
        if self.explanation.gold:
            absent = "; ".join(sanitized(phrase.text) for phrase in self.explanation.gold if not phrase.spans)
            place = "in bold italics" if self.styled else "between *stars*"
            yield Text(f"Gold: {place}." + (f" Not in the text: {absent}." if absent else ""))
        if self.shown != [Span(0, len(self.plain))]:
            yield Text("Only the passages with the best phrases are shown; --whole shows the whole text.")
        for method in self.explanation.methods:
            if not method.result.coverage.complete:
                yield Text(f"{method.result.method}: {method.result.coverage}.")


def hidden_parts(listed: Ranked, width: int) -> list[str]:
    """The parts that do not fit; those that differ most among the listed phrases are shown first."""

    def spread(name: str) -> float:
        values = [row.phrase.parts.get(name, 0.0) for row in listed.rows]
        return pstdev(values) if values else 0.0

    def needed(name: str) -> int:
        column = [row.cells[listed.head.index(name)] for row in listed.rows]
        widest = max(map(cell_len, [*_folded(name).split("\n"), *column]))
        return _BETWEEN + (min(widest, _LONGEST_PHRASE) if name == "Keyphrase" else widest)

    room = width + _BETWEEN - sum(needed(name) for name in listed.head if name not in listed.parts)
    parts = sorted(listed.parts, key=spread, reverse=True)
    return parts[sum(total <= room for total in accumulate(map(needed, parts))) :]


def _folded(name: str) -> str:
    """A column's name over several lines, for narrow numbers."""
    return name.replace("_", "_\n")


def background(step: int) -> str:
    return f"color(16) on color({COLOURS[step]})"
