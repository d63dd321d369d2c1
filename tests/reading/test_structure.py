"""Headings, code, quotations and boilerplate are found in plain text, and prose has no blocks."""

from itertools import pairwise
from pathlib import Path

import pytest

from mudy import Extractor, SettingError
from mudy.extraction.options import Options
from mudy.reading.candidates import candidates
from mudy.reading.document import Block, Span, first_words, not_prose
from mudy.reading.structure import blocks_of, cut_to, prose_of, unusual
from tests.growth import is_linear
from tests.taggers import english

PROSE = "River ice is thin in spring, and walkers break through it. The village warns of it each year.\n"


def found(text: str) -> list[tuple[str, int, str]]:
    return [(block.kind, block.level, block.span.of(text)) for block in blocks_of(text)]


@pytest.mark.parametrize(
    "text",
    [
        PROSE,
        "Thin ice of rivers\n" + PROSE,  # a title with its abstract
        "Thin ice of rivers\n\n" + PROSE,
        "THIN ICE OF RIVERS. " + PROSE,
        f"{PROSE}\n{PROSE}\n\nA short line\n\n{PROSE}",
        "Methods: we measured ice.\nResults: it is thin.\n",
        "1. Walk on the ice.\n\n2. Fall into the river.\n\n3. Swim.\n",
        "We need:\n- ice\n- a river\n* snow\n",
        "The temperature fell # and rose -- again ---\n",
        "# " + PROSE.strip() * 3,
        "$ q_ { 10 } $ is the rate of melting.\n",
        "An open fence ``` hides nothing.\n```\n" + PROSE,
        "He said:\n> thin ice\n" + PROSE,
        "To: all of us, from: me, the ice is thin.",
        "",
        "\n\n \n",
    ],
)
def test_prose_has_no_blocks(text: str) -> None:
    assert blocks_of(text) == ()


@pytest.mark.parametrize(
    ("text", "headings"),
    [
        (
            f"# River ice\n\n{PROSE}\n## Melting ##\n\n{PROSE}",
            [("title", 1, "River ice"), ("heading", 2, "Melting")],
        ),
        (
            f"River ice\n=========\n\n{PROSE}\nMelting\n-------\n{PROSE}",
            [("title", 1, "River ice"), ("heading", 2, "Melting")],
        ),
        (
            f"*********\nRiver ice\n*********\n\n{PROSE}\nMelting\n*******\n{PROSE}",
            [("title", 1, "River ice"), ("heading", 2, "Melting")],
        ),
        (
            f"Ice report\n\n{PROSE}\n1. Thin ice\n\n{PROSE}\n1.1 Spring\n\n{PROSE}\n2. Thick ice\n\n{PROSE}",
            [
                ("title", 0, "Ice report"),
                ("heading", 1, "1. Thin ice"),
                ("heading", 2, "1.1 Spring"),
                ("heading", 1, "2. Thick ice"),
            ],
        ),
        (
            f"ICE REPORT\n\n{PROSE}\nMELTING\n{PROSE}{PROSE}{PROSE}",
            [("title", 1, "ICE REPORT"), ("heading", 1, "MELTING")],
        ),
        (f"CHAPTER 3\n\n{PROSE}{PROSE}{PROSE}", [("title", 1, "CHAPTER 3")]),
    ],
)
def test_headings_are_found_by_their_marks(text: str, headings: list[tuple[str, int, str]]) -> None:
    assert found(text) == headings


def test_comments_of_a_shell_are_no_headings() -> None:
    assert blocks_of(f"{PROSE}\n# install it\n# then run it\nmake\n\n{PROSE}") == ()


def test_code_between_fences_is_found_with_them() -> None:
    text = f"{PROSE}\n```python\nice = river\n```\n{PROSE}"
    assert found(text) == [("code", 0, "```python\nice = river\n```")]


def test_a_message_has_its_subject_as_title_and_quotations() -> None:
    text = (
        "From: Ada <ada@example.org>\nSubject: Thin ice\nDate: Mon, 3 Mar 2025 10:00:00 +0100\n\n"
        f"{PROSE}\nOn Sunday, Bob wrote:\n> Is the ice\n> thick enough?\n\n{PROSE}\n-- \nAda, ice warden\n"
    )
    kinds = {kind: words for kind, _, words in found(text)}
    assert kinds["title"] == "Thin ice"
    assert kinds["quotation"] == "> Is the ice\n> thick enough?"
    assert kinds["boilerplate"] == "-- \nAda, ice warden"
    assert ("boilerplate", 0, "On Sunday, Bob wrote:") in found(text)


def test_a_manual_page_has_its_name_as_title_and_options_are_code() -> None:
    text = (
        "ICE(1)             User Commands             ICE(1)\n\nNAME\n       ice - measure thin ice\n\nSYNOPSIS\n"
        "       ice [OPTION]...\n\nDESCRIPTION\n       Measure the ice of a river.\n\n       -d, --depth=N\n"
        "              drill deeper\n\nCOPYRIGHT\n       Free software.\n"
    )
    blocks = found(text)
    assert ("title", 0, "ice - measure thin ice") in blocks
    assert ("code", 0, "ice [OPTION]...") in blocks
    assert ("code", 0, "-d, --depth=N") in blocks
    assert ("boilerplate", 0, "Free software.") in blocks


def test_times_and_writers_of_a_chat_are_boilerplate() -> None:
    text = "".join(f"[03/02/2025, 18:0{n}:00] Ada: the ice of river {n} melts\n" for n in range(6))
    assert [words for _, _, words in found(text)][:2] == [
        "[03/02/2025, 18:00:00] Ada: ",
        "[03/02/2025, 18:01:00] Ada: ",
    ]


def test_tables_of_contents_and_references_are_boilerplate() -> None:
    contents = "Contents\n\n1. Thin ice\n2. Thick ice"
    text = f"# Ice\n\n{contents}\n\n{PROSE}\n## References\n\nAda: Ice. 2025.\n\n## End\n\n{PROSE}"
    assert ("boilerplate", 0, contents) in found(text)
    assert ("boilerplate", 0, "\n\nAda: Ice. 2025.\n\n## ") in found(text)
    assert found(text)[-1] == ("heading", 2, "End")


def test_blocks_are_in_order_and_do_not_overlap() -> None:
    parts = [
        "# A\n\n",
        "B\n===\n\n",
        "```\nc\n```\n",
        "> d\n> e\n\n",
        "REFERENCES\n\n",
        PROSE,
        "1. F\n\n",
        "Contents\n- a\n\n",
    ]
    for shift in range(len(parts)):
        text = "".join(parts[shift:] + parts[:shift]) * 2
        spans = [block.span for block in blocks_of(text)]
        assert all(a.end <= b.start for a, b in pairwise(spans))
        assert all(0 <= span.start < span.end <= len(text) for span in spans)


# -- What is made of them ---------------------------------------------------------------------------------------------


def test_a_document_knows_its_title_and_its_headings() -> None:
    document = Extractor(language="en").read(f"# River ice\n\n{PROSE}\n## Melting\n\n{PROSE}")
    assert document.title is not None
    assert document.title.of(document.text) == "River ice"
    assert [span.of(document.text) for span in document.headings] == ["River ice", "Melting"]
    assert not_prose(document.text, document.blocks) == ()


def test_no_phrase_comes_from_code_and_offsets_stay() -> None:
    text = f"{PROSE}\n```\nglacier = snow\n```\n\nThe winter road is closed."
    blocks = blocks_of(text)
    document = english().document(text, blocks=blocks)
    phrases = {candidate.phrase: candidate for candidate in candidates(document)}
    assert "winter road" in phrases
    assert not {"glacier", "snow"} & phrases.keys()
    assert phrases["winter road"].occurrences[0].span.of(text) == "winter road"
    assert len(prose_of(text, blocks)) == len(text)


def test_a_quotation_is_read_if_there_is_little_else() -> None:
    quotation = "> The winter road over the river is closed\n> because of thin ice.\n"
    assert "winter road" in Extractor(language="en").read(quotation + "\nOh.").text
    short = english().document(quotation + "\nOh.", blocks=blocks_of(quotation + "\nOh."))
    long = english().document(quotation + PROSE * 3, blocks=blocks_of(quotation + PROSE * 3))
    assert "winter road" in {candidate.phrase for candidate in candidates(short)}
    assert "winter road" not in {candidate.phrase for candidate in candidates(long)}


def test_a_table_of_numbers_is_no_prose_but_one_of_words_is() -> None:
    text = "Ada | Bob\n1 | 2\n3 | 4"
    words, numbers = Block(Span(0, 9), "table"), Block(Span(10, 21), "table")
    assert not_prose(text, (words, numbers)) == (numbers.span,)


def test_blocks_end_where_a_text_is_cut() -> None:
    blocks = (Block(Span(0, 5), "title"), Block(Span(8, 20), "code"), Block(Span(30, 40), "code"))
    assert cut_to(10, blocks) == (Block(Span(0, 5), "title"), Block(Span(8, 10), "code"))
    document = Extractor(language="en", max_words=4).read(f"# River ice\n\n{PROSE}")
    assert document.text == "# River ice\n\nRiver"
    assert document.title == Span(2, 11)


def test_blocks_that_a_reader_found_are_taken_as_they_are() -> None:
    blocks = (Block(Span(0, 9), "title"),)
    document = Extractor(language="en").read("River ice\n\n# No heading", blocks=blocks)
    assert document.blocks == blocks


def test_logs_and_tables_of_numbers_are_told_from_prose() -> None:
    log = "".join(f"Apr 03 11:01:{n} host daemon[12]: ice melted\n" for n in range(10, 50))
    chat = "".join(f"[03/04/2025, 11:01:{n}] Ada: ice melted\n" for n in range(10, 50))
    assert "log" in str(unusual(log))
    assert "numbers" in str(unusual("".join(f"{n} 2.5 3.75\n" for n in range(50))))
    assert unusual(PROSE * 50) is None
    assert unusual(chat) is None


@pytest.mark.parametrize(
    "piece",
    [
        "a\n===\n\n",
        "# a\n\n",
        "```\n",
        "> a\n",
        "1. A\n\nb\n\n",
        "AB CD\n\nb\n",
        "From: a\nTo: b\n",
        "Contents\n1. a\n",
        " \n",
        "# References\n\na\n\n",
        "On a b c d:\n> a\n> b\n",
        "[01/02/2025, 10:00:00] a: b\n",
    ],
)
def test_time_grows_with_the_text_alone(piece: str) -> None:
    assert is_linear(blocks_of, lambda size: piece * (size // len(piece)), 100_000)


def test_blocks_of_another_kind_are_refused() -> None:
    with pytest.raises(SettingError, match="must be a list of blocks"):
        Options(blocks=[(0, 1, "code")])  # type: ignore[list-item]


LICENCE = Path("LICENSE").read_text(encoding="utf-8")
STORY = (PROSE + "\n") * 8


@pytest.mark.parametrize("words", [250, 450, None])
def test_a_licence_beside_a_text_is_boilerplate(words: int | None) -> None:
    licence, _ = first_words(LICENCE, words)
    for text, story in (
        (f"{licence}\n\nThin ice\n\n{STORY}", f"Thin ice\n\n{STORY}"),
        (f"Thin ice\n\n{STORY}{licence}", f"Thin ice\n\n{STORY}"),
    ):
        assert prose_of(text, blocks_of(text)).split() == story.split()


@pytest.mark.parametrize(
    "text",
    [
        LICENCE,
        f"{LICENCE}\n\nShort.",
        STORY + "The shop sells copies of the map and a patented lamp. It grants a discount to members.\n",
        "Permission is hereby granted, said the mayor.\n\n" + "Do copies of software need a licence? " * 30,
    ],
)
def test_a_text_about_licences_is_read(text: str) -> None:
    assert not any(block.kind == "boilerplate" for block in blocks_of(text))
