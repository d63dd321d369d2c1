"""An explanation as HTML: a page in one file that needs no network, and a fragment for notebooks."""

import json
import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256
from html import escape
from importlib.resources import files
from itertools import groupby
from operator import attrgetter
from typing import Any

from mudy._support import __version__
from mudy.extraction.explanation import Explanation
from mudy.extraction.render.text_pieces import (
    HIDDEN,
    STEPS,
    Mark,
    Piece,
    Ranked,
    coloured_pieces,
    ellipses,
    number,
    ranked,
    sanitized,
    shown,
    within,
)
from mudy.extraction.results import Result
from mudy.methods import METHODS, description
from mudy.reading.document import Span, squeeze

UNSHOWN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")  # not allowed in HTML, or invisible
SURROGATE = re.compile("[\ud800-\udfff]")
_DIGITS = 6  # significant digits of numbers in the page; scores keep all, since rounding twice can change a rank
_TITLE = 80  # characters
_LONG = 4000  # characters; of longer texts a notebook shows only passages

# In an order in which every script comes after those it imports. No two declare the same name, so that, without their
# import and export statements, they are one function. As a module it would run only after the page was drawn.
_VIEW = "words elements theme segments rescore reading parts ranking card panel navigation view"
_SCRIPTS = (*(f"server/web/view/{name}.js" for name in _VIEW.split()), "server/web/report.js")
STYLE_SHEETS = ("server/web/palette.css", "server/web/view.css", "extraction/render/report.css")
_MODULE_SYNTAX = re.compile(r'^import \{[^}]*\} from "[^"]*";\n|^export (?!\{)', re.MULTILINE)

_PAGE = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<meta name="generator" content="{generator}">
<title>{title}</title>
{styles}
</head>
<body class="mudy-report">
<header class="report-head">
<h1><bdi>{heading}</bdi></h1>
<p>{about}</p>
</header>
<main id="mudy-view" class="report-static">
{main}
</main>
<script type="application/json" id="mudy-data">{data}</script>
<script>{script}</script>
</body>
</html>
"""
_MAIN = """\
<p class="report-legend">{legend}</p>
<div class="report-methods">
{content}
</div>"""


def report(explanation: Explanation, top_n: int | None = 15) -> str:
    heading = explanation.source or squeeze(explanation.text)[:_TITLE] or "An empty text"
    sections = (_section(explanation, index, top_n) for index in range(len(explanation.methods)))
    main = _MAIN.format(legend=_legend(explanation), content="\n".join(sections))
    shown = data(explanation, top_n)
    return page(f"{heading}: keyphrases", heading, _about(explanation), main, shown, _SCRIPTS, STYLE_SHEETS)


def page(
    title: str,
    heading: str,
    about: str,
    main: str,
    data: Any,
    scripts: Sequence[str],
    style_sheets: Sequence[str],
    generator: str = "mudy",
) -> str:
    """A page in one file: `about` and `main` are HTML, `data` is what the scripts read from #mudy-data."""
    styles = [_embeddable(_file(path)) for path in style_sheets]
    joined = "".join(_MODULE_SYNTAX.sub("", _file(path)) for path in scripts)
    script = _embeddable(f"(() => {{\n'use strict';\n{joined}}})();\n")
    return _PAGE.format(
        policy=policy(styles, script),
        generator=f"{generator} {__version__}",
        title=escaped(squeeze(sanitized(title))),
        heading=escaped(heading),
        about=about,
        styles="\n".join(f"<style>{style}</style>" for style in styles),
        main=main,
        data=_json(data),
        script=script,
    )


def policy(styles: list[str], script: str) -> str:
    """A Content-Security-Policy that allows exactly these styles and this script; nothing is fetched."""
    hashes = [f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'" for text in (*styles, script)]
    sources = f"style-src {' '.join(hashes[:-1])}; script-src {hashes[-1]}"
    return f"default-src 'none'; {sources}; base-uri 'none'; form-action 'none'"


def _file(path: str) -> str:
    return files("mudy").joinpath(*path.split("/")).read_text(encoding="utf-8")


def _embeddable(text: str) -> str:
    assert not re.search("</style|</script|<!--", text, re.IGNORECASE), "a style or script would end its own tag"
    return text


def _about(explanation: Explanation) -> str:
    groups = []
    for model, results in groupby((method.result for method in explanation.methods), key=attrgetter("model")):
        names = " and ".join(f"<b>{result.method}</b>" for result in results)
        groups.append(f"{names} with <bdi>{escaped(model)}</bdi>" if model else names)
    return f"{len(explanation.text.split()):,} words; keyphrases by {' and by '.join(groups)}"


def _section(explanation: Explanation, index: int, top_n: int | None) -> str:
    result = explanation.methods[index].result
    table = ranked(explanation, index, top_n)
    cut = coloured_pieces(explanation, result, top_n)
    text = coloured_text(explanation.text, cut, lambda mark: f'class="heat-{mark.step}"', _GOLD)
    warnings = [f"<bdi>{escaped(warning)}</bdi>" for warning in result.warnings]
    paragraphs = "".join(f"<p>{note}</p>" for note in notes(explanation, result, table) + warnings)
    return (
        f'<section class="report-method" aria-labelledby="method-{index}">\n'
        f'<h2 id="method-{index}">{result.method}</h2>\n'
        f'<div class="report-list" role="region" aria-labelledby="method-{index}" tabindex="0">'
        f"{phrase_table(table, 'Phrases by their best occurrence', _GOLD)}</div>\n"
        f'<div class="report-notes">{paragraphs}</div>\n'
        f'<div class="report-text" dir="auto" lang="">{text}</div></section>'
    )


_GOLD = '<em class="gold"><strong>', "</strong></em>"


def _legend(explanation: Explanation) -> str:
    scale = "".join(f'<span class="heat-{step}">&nbsp;</span>' for step in range(STEPS))
    gold = " Gold keyphrases are in bold italics." if explanation.gold else ""
    return (
        f'Colour: the share of a method\'s occurrences with a lower score, from the lowest <span class="report-scale" '
        f'aria-hidden="true">{scale}</span> to the highest; the same scale for all methods. Phrases outside the list '
        f"have no colour.{gold}"
    )


def data(explanation: Explanation, top_n: int | None = 15) -> dict[str, Any]:
    """What the script reads: the explanation with its text and its methods' descriptions, numbers rounded."""
    listed = top_n or max((len(method.result.keyphrases) for method in explanation.methods), default=0)
    names = {method.result.method for method in explanation.methods} & METHODS.keys()
    rounded: dict[str, Any] = _rounded({"text": explanation.text, **explanation.to_dict(), "top_n": listed})
    described = {name: {key: description(name)[key] for key in ("title", "parts")} for name in sorted(names)}
    return rounded | {"descriptions": described}


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.{_DIGITS}g}")
    if isinstance(value, dict):
        return {name: item if name == "score" else _rounded(item) for name, item in value.items()}
    return [_rounded(item) for item in value] if isinstance(value, list) else value


def _json(value: Any) -> str:
    """JSON that ends no tag and begins no comment, whatever it holds."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return SURROGATE.sub("\ufffd", text).replace("<", "\\u003c")


# -- The notebook -----------------------------------------------------------------------------------------------------

# Viewers that distrust a notebook keep the style of a tag, but no style sheet. The background may be light or dark:
# pale colours are translucent under the notebook's own letters, and only the last two bring letters of their own.
_VEILS = (f"background-color:rgba(240,98,42,{share});color:inherit" for share in (0.06, 0.12, 0.2, 0.28, 0.36, 0.45))
COLOURS = (*_VEILS, *(f"background-color:{ground};color:#171c26" for ground in ("#f48548", "#f0622a")))
_GOLD_STYLED = '<em style="font-style:italic"><strong style="font-weight:bold">', "</strong></em>"
_STYLES = {
    "table": ' style="border-collapse:collapse;margin:0.5em 0;font-variant-numeric:tabular-nums"',
    "caption": ' style="text-align:left;font-weight:bold;padding:0.3em 0"',
    "th": ' style="text-align:left;padding:0.15em 0.7em"',
    "td": ' style="text-align:left;padding:0.15em 0.7em"',
}
_TEXT = (
    'dir="auto" style="white-space:pre-wrap;overflow-wrap:anywhere;unicode-bidi:isolate;line-height:1.7;max-width:50em"'
)


def fragment(explanation: Explanation, top_n: int | None = 15) -> str:
    """A list and the coloured text of each method, without scripts and without styles for the page."""
    results = [method.result for method in explanation.methods]
    spans = shown(explanation.text, results, top_n, _LONG)
    return "\n".join(_division(explanation, index, spans, top_n) for index in range(len(results)))


def _division(explanation: Explanation, index: int, spans: list[Span], top_n: int | None) -> str:
    text, result = explanation.text, explanation.methods[index].result
    table = ranked(explanation, index, top_n)
    caption = f"{result.method}{f' with {escaped(result.model)}' if result.model else ''}"
    cut = coloured_pieces(explanation, result, top_n)
    *before, after = ellipses(text, spans)
    passages = [
        coloured_text(text, within(cut, span), lambda mark: f'style="{COLOURS[mark.step]}"', _GOLD_STYLED)
        for span in spans
    ]
    shown_text = "".join(dots + passage for dots, passage in zip(before, passages, strict=True)) + after
    return (
        f"<div>{phrase_table(table, caption, _GOLD_STYLED, _STYLES)}<p>{' '.join(notes(explanation, result, table))}"
        f"</p>\n<div {_TEXT}>{shown_text}</div></div>"
    )


# -- What both are made of --------------------------------------------------------------------------------------------


def escaped(text: str) -> str:
    """A text for any part of a page, character for character; what HTML does not allow is a replacement character."""
    return UNSHOWN.sub("\ufffd", escape(text)).replace("\r", "&#13;")  # the parser would make it a line feed


def coloured_text(text: str, cut: Iterable[Piece], attribute: Callable[[Mark], str], gold: tuple[str, str]) -> str:
    """Pieces of a text: each occurrence in a <mark> with an attribute for its colour, gold between two tags."""
    written = []
    for mark, run in groupby(cut, key=attrgetter("mark")):
        letters = "".join(_emphasised(escaped(piece.span.of(text)), piece.gold, gold) for piece in run)
        tag = mark and f'<mark {attribute(mark)} title="{escaped(_tooltip(mark))}">'
        written.append(f"{tag}{letters}</mark>" if tag else letters)
    return "".join(written)


def _emphasised(letters: str, is_gold: bool, tags: tuple[str, str]) -> str:
    return f"{tags[0]}{letters}{tags[1]}" if is_gold else letters


def _tooltip(mark: Mark) -> str:
    """The rank of an occurrence's phrase, its score, and the parts of the score."""
    parts = {name: value for name, value in mark.occurrence.parts.items() if name not in HIDDEN}
    numbers = {"score": mark.occurrence.score, **parts}
    plain = ", p without weighting" if mark.occurrence.parts.get("weighted") == 0 else ""
    return f"{mark.phrase.rank}. " + ", ".join(f"{name} {number(value)}" for name, value in numbers.items()) + plain


def phrase_table(table: Ranked, caption: str, gold: tuple[str, str], styles: dict[str, str] | None = None) -> str:
    """A ranked list; `styles` are attributes of tags by their names."""
    attributes = {tag: (styles or {}).get(tag, "") for tag in ("table", "caption", "th", "td")}
    head = "".join(f'<th{attributes["th"]} scope="col">{escaped(name)}</th>' for name in table.head)
    lines = [f"<table{attributes['table']}><caption{attributes['caption']}>{caption}</caption>"]
    lines.append(f"<thead><tr>{head}</tr></thead><tbody>")
    for row in table.rows:
        cells = [escaped(cell) for cell in row.cells]
        cells[1] = f"<bdi>{_emphasised(cells[1], row.gold, gold)}</bdi>"
        lines.append("<tr>" + "".join(f"<td{attributes['td']}>{cell}</td>" for cell in cells) + "</tr>")
    return "\n".join([*lines, "</tbody></table>"])


def notes(explanation: Explanation, result: Result, table: Ranked) -> list[str]:
    sentences = []
    if table.left:
        sentences.append(f"{table.left:,} more phrase{'' if table.left == 1 else 's'} scored lower.")
    if not result.coverage.complete:
        sentences.append(f"{result.coverage}.")
    absent = [f"<bdi>{escaped(phrase.text)}</bdi>" for phrase in explanation.gold if not phrase.spans]
    if absent:
        sentences.append(f"Gold, but not in the text: {'; '.join(absent)}.")
    return sentences
