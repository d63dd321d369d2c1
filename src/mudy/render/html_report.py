"""An explanation as one HTML file that needs no network: readable as it is, and alive where scripts may run."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from functools import partial
from hashlib import sha256
from importlib.resources import files
from itertools import groupby
from operator import attrgetter
from typing import Any

from mudy._support import __version__
from mudy.extraction.explanation import Explanation
from mudy.methods import METHODS, description
from mudy.reading.document import squeeze
from mudy.render import colours, html_fragments
from mudy.render.ranking_table import ranked
from mudy.render.sanitize import sanitized
from mudy.render.script_bundle import bundle
from mudy.render.text_pieces import Place, coloured_pieces

_DIGITS = 6  # significant digits of numbers in the page; scores keep all, since rounding twice can change a rank
TITLE = 80  # characters
_CAPTION = "Phrases by their best places"
SURROGATE = re.compile("[\ud800-\udfff]")

_PAGE = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<meta name="generator" content="mudy {version}">
<title>{title}</title>
{styles}
</head>
<body class="mudy-report">
<header class="report-head">
<h1><bdi>{heading}</bdi></h1>
<p>{about}</p>
</header>
<main id="mudy-view" class="report-static">
<p class="report-legend">{legend}</p>
<div class="report-methods">
{content}
</div>
</main>
<script type="application/json" id="mudy-data">{data}</script>
<script>{script}</script>
</body>
</html>
"""


def report(explanation: Explanation, top_n: int | None = 15) -> str:
    """The whole page."""
    styles = [_style("server/web", "palette.css"), _style("server/web", "view.css"), _style("render", "report.css")]
    script = _embeddable(bundle(files("mudy").joinpath("server", "web"), "report.js"))
    heading = explanation.source or squeeze(explanation.text)[:TITLE] or "An empty text"
    return _PAGE.format(
        policy=policy(styles, script),
        version=__version__,
        title=html_fragments.escaped(squeeze(sanitized(f"{heading}: keyphrases"))),
        heading=html_fragments.escaped(heading),
        about=_about(explanation),
        styles="\n".join(f"<style>{style}</style>" for style in styles),
        content="\n".join(_method(explanation, index, top_n) for index in range(len(explanation.methods))),
        legend=_legend(explanation),
        data=_json(data(explanation, top_n)),
        script=script,
    )


def policy(styles: list[str], script: str) -> str:
    """A Content-Security-Policy that allows these very styles and this script, and nothing else: nothing is fetched."""
    return (
        f"default-src 'none'; style-src {_hashes(styles)}; script-src {_hashes([script])}; "
        "base-uri 'none'; form-action 'none'"
    )


def _hashes(texts: list[str]) -> str:
    return " ".join(f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'" for text in texts)


def _style(folder: str, name: str) -> str:
    return _embeddable(files("mudy").joinpath(folder, name).read_text(encoding="utf-8"))


def _embeddable(text: str) -> str:
    assert not re.search("</style|</script|<!--", text, re.IGNORECASE), "a style or script would end its own tag"
    return text


# -- What a page says without scripts ---------------------------------------------------------------------------------


def _about(explanation: Explanation) -> str:
    """How long the text is, and who read it; a model that neighbours share is named once."""
    said = []
    for model, results in groupby((method.result for method in explanation.methods), key=attrgetter("model")):
        names = " and ".join(f"<b>{result.method}</b>" for result in results)
        said.append(f"{names} with <bdi>{html_fragments.escaped(model)}</bdi>" if model else names)
    return f"{len(explanation.text.split()):,} words, read by {' and by '.join(said)}"


def _method(explanation: Explanation, index: int, top_n: int | None) -> str:
    """One method: its name, its list, and the text in its colours."""
    result = explanation.methods[index].result
    listed = ranked(explanation, index, top_n)
    pieces = coloured_pieces(explanation, result)
    text = html_fragments.coloured_text(explanation.text, pieces, partial(_attributes, top_n))
    warnings = [f"<bdi>{html_fragments.escaped(warning)}</bdi>" for warning in result.warnings]
    sentences = html_fragments.notes(explanation, result, listed) + warnings
    return (
        f'<section class="report-method" aria-labelledby="method-{index}">\n'
        f'<h2 id="method-{index}">{result.method}</h2>\n'
        f'<div class="report-list" role="region" aria-labelledby="method-{index}" tabindex="0">'
        f"{html_fragments.phrase_table(listed, _CAPTION)}</div>\n"
        f'<div class="report-notes">{"".join(f"<p>{each}</p>" for each in sentences)}</div>\n'
        f'<div class="report-text" dir="auto" lang="">{text}</div></section>'
    )


def _attributes(top_n: int | None, place: Place) -> str:
    listed = "" if top_n is not None and place.phrase.rank > top_n else " is-top"
    return (
        f'class="heat-{colours.step(place.heat)}{listed}" title="{html_fragments.escaped(html_fragments.parts(place))}"'
    )


def _legend(explanation: Explanation) -> str:
    scale = "".join(f'<span class="heat-{step}">&nbsp;</span>' for step in range(colours.STEPS))
    gold = " Gold keyphrases are in bold italics." if explanation.gold else ""
    return (
        f'Colour: the share of a method\'s occurrences with a lower score, from the lowest <span class="report-scale" '
        f'aria-hidden="true">{scale}</span> to the highest; the same scale for all methods. Underlined phrases are in '
        f"the list.{gold}"
    )


# -- What its scripts read --------------------------------------------------------------------------------------------


def data(explanation: Explanation, top_n: int | None = 15) -> dict[str, Any]:
    """The explanation with its text and what its methods say of themselves, numbers shortened."""
    listed = top_n or max((len(method.result.keyphrases) for method in explanation.methods), default=0)
    names = {method.result.method for method in explanation.methods} & METHODS.keys()
    shortened: dict[str, Any] = _shortened({"text": explanation.text, **explanation.to_dict(), "top_n": listed})
    return shortened | {"descriptions": {name: _description(name) for name in sorted(names)}}


def _description(name: str) -> dict[str, Any]:
    return {key: value for key, value in description(name).items() if key in ("title", "parts")}


def _shortened(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.{_DIGITS}g}")
    if isinstance(value, dict):
        return {name: each if name == "score" else _shortened(each) for name, each in value.items()}
    return [_shortened(each) for each in value] if isinstance(value, list) else value


def _json(value: Any) -> str:
    """JSON that ends no tag and begins no comment, whatever it holds."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return SURROGATE.sub("\ufffd", text).replace("<", "\\u003c")
