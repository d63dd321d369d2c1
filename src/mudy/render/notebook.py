"""An explanation in a notebook: a list and the coloured text, without scripts and without styles for the page."""

from __future__ import annotations

from mudy.extraction.explanation import Explanation
from mudy.reading.document import Span
from mudy.render import colours, html_fragments
from mudy.render.excerpts import shown
from mudy.render.ranking_table import ranked
from mudy.render.text_pieces import Place, coloured_pieces, within

_LONG = 4000  # characters; of longer texts only passages are shown

# Viewers that distrust a notebook keep the style of a tag, but no style sheet. What has no style of its own has the
# colours of the notebook, light or dark.
_GOLD = '<em style="font-style:italic"><strong style="font-weight:bold">', "</strong></em>"
STYLES = {
    "table": 'style="border-collapse:collapse;margin:0.5em 0;font-variant-numeric:tabular-nums"',
    "th": 'style="text-align:left;padding:0.15em 0.7em"',
    "td": 'style="text-align:left;padding:0.15em 0.7em"',
}
_CAPTION = ' style="text-align:left;font-weight:bold;padding:0.3em 0"'
TEXT = (
    'dir="auto" style="white-space:pre-wrap;overflow-wrap:anywhere;unicode-bidi:isolate;line-height:1.7;max-width:50em"'
)


def fragment(explanation: Explanation, top_n: int | None = 15) -> str:
    """HTML to stand in a page of others."""
    results = [method.result for method in explanation.methods]
    spans = shown(explanation.text, results, top_n, _LONG)
    return "\n".join(_method(explanation, index, spans, top_n) for index in range(len(results)))


def _method(explanation: Explanation, index: int, spans: list[Span], top_n: int | None) -> str:
    result = explanation.methods[index].result
    listed = ranked(explanation, index, top_n)
    caption = f"{result.method}{f' with {html_fragments.escaped(result.model)}' if result.model else ''}"
    cut = coloured_pieces(explanation, result)
    said = " ".join(html_fragments.notes(explanation, result, listed))
    inside = [html_fragments.coloured_text(explanation.text, within(cut, span), _attributes, _GOLD) for span in spans]
    return (
        f"<div>{html_fragments.phrase_table(listed, caption, _GOLD, STYLES, _CAPTION)}<p>{said}</p>\n"
        f"<div {TEXT}>{_joined(explanation.text, spans, inside)}</div></div>"
    )


def _joined(text: str, spans: list[Span], inside: list[str]) -> str:
    """Passages with dots where text is left out."""
    before = "...\n" if text[: spans[0].start].strip() else ""
    after = "\n..." if text[spans[-1].end :].strip() else ""
    return before + "\n...\n".join(inside) + after


def _attributes(place: Place) -> str:
    title = html_fragments.escaped(html_fragments.parts(place))
    return f'style="{colours.NOTEBOOK[colours.step(place.heat)]}" title="{title}"'
