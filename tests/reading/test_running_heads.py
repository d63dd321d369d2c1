"""Heads, footers and page numbers of PDFs made by a program that sets such lines."""

from collections.abc import Callable

from fpdf import FPDF

from mudy.reading import formats as readers
from mudy.reading.formats import Reading

BODY = [f"The river Esk floods meadow {name}. A gauge measures its level there." for name in "ABCDEFGH"]


class Paper(FPDF):  # type: ignore[misc]
    """A document with lines at the top and the bottom of each page."""

    head: Callable[[int], str] = staticmethod(lambda _: "")
    foot: Callable[[int], str] = staticmethod(lambda _: "")
    side: Callable[[int], str] = staticmethod(lambda _: "L")

    def header(self) -> None:
        self.set_font("Helvetica", size=9)
        self.cell(0, 10, self.head(self.page_no()), align=self.side(self.page_no()))
        self.ln(20)
        self.set_font("Helvetica", size=12)

    def footer(self) -> None:
        self.set_y(-15)
        self.set_font("Helvetica", size=9)
        self.cell(0, 10, self.foot(self.page_no()), align="C")


def read(
    pages: list[str],
    head: Callable[[int], str] = lambda _: "",
    foot: Callable[[int], str] = lambda _: "",
    side: Callable[[int], str] = lambda _: "L",
) -> Reading:
    made = Paper()
    made.head, made.foot, made.side = head, foot, side
    for page in pages:
        made.add_page()
        made.multi_cell(0, 6, page)
    return readers.read(bytes(made.output()))


def texts(reading: Reading) -> list[str]:
    """The text of each page, by where the pages begin."""
    ends = [*reading.pages[1:], len(reading.text)]
    return [reading.text[start:end].strip() for start, end in zip(reading.pages, ends, strict=True)]


def test_heads_footers_and_page_numbers_are_taken_out_and_pages_begin_where_their_text_does() -> None:
    reading = read(BODY, head=lambda _: "Hofstra et al.", foot=lambda number: str(number))
    assert texts(reading) == BODY
    assert all(reading.text.startswith("The river", start) for start in reading.pages)


def test_left_and_right_pages_may_have_heads_of_their_own() -> None:
    left, right = "412 Hofstra et al.", "Floods of the Esk 413"
    reading = read(
        BODY,
        head=lambda number: (
            left.replace("412", str(410 + number)) if number % 2 == 0 else right.replace("413", str(410 + number))
        ),
        side=lambda number: "L" if number % 2 == 0 else "R",
    )
    assert texts(reading) == BODY


def test_page_numbers_in_words_are_taken_out() -> None:
    reading = read(BODY, foot=lambda number: f"Page {number} of {len(BODY)}")
    assert texts(reading) == BODY


def test_each_chapter_may_have_a_head_of_its_own() -> None:
    reading = read(BODY, head=lambda number: f"{1 + number // 5} {'Floods' if number < 5 else 'Gauges'}")
    assert texts(reading) == BODY


def test_two_pages_are_too_few_to_tell() -> None:
    assert texts(read(BODY[:2], head=lambda _: "Hofstra et al."))[0].startswith("Hofstra et al.")


def test_what_repeats_inside_pages_stays() -> None:
    refrain = [f"{line}\nO river, O river.\n{line}" for line in BODY]
    assert texts(read(refrain)) == refrain


def test_pages_that_are_all_the_same_stay() -> None:
    letter = "Dear Sir,\nthe river Esk has flooded your meadow.\nA gauge has measured it.\nPlease call us.\nYours"
    assert texts(read([letter] * 5)) == [letter] * 5
    assert texts(read([letter] * 5, head=lambda _: "Esk Water", foot=str)) != [""] * 5
    assert texts(read(["River gauge"] * 5)) == ["River gauge"] * 5


def test_a_head_that_is_also_the_first_line_of_a_page_is_taken_out_once() -> None:
    title = "Floods of the Esk"
    reading = read([f"{title}\n{BODY[0]}", *BODY[1:]], head=lambda _: title)
    assert texts(reading) == [f"{title}\n{BODY[0]}", *BODY[1:]]


def test_a_title_in_large_letters_is_no_head() -> None:
    made = Paper()
    title = "Floods of the Esk"
    made.head = lambda number: "" if number == 1 else title
    for number, page in enumerate(BODY):
        made.add_page()
        if number == 0:
            made.set_font("Helvetica", size=20)
            made.set_y(10)
            made.cell(0, 10, title)
            made.ln(20)
            made.set_font("Helvetica", size=12)
        made.multi_cell(0, 6, page)
    reading = readers.read(bytes(made.output()))
    assert texts(reading)[0].startswith(title)
    assert reading.text.count(title) == 1


def test_rows_of_a_table_at_the_top_of_pages_are_no_heads() -> None:
    reading = read(BODY, head=lambda number: f"Sample {number * 40}")
    assert [text.split("\n")[0] for text in texts(reading)] == [f"Sample {40 * n}" for n in range(1, 1 + len(BODY))]


def test_numbers_that_do_not_count_the_pages_stay() -> None:
    reading = read(BODY, foot=lambda number: str(number * number))
    assert [text.split("\n")[-1] for text in texts(reading)] == [str(n * n) for n in range(1, 1 + len(BODY))]


def test_a_page_that_holds_nothing_else_is_blank_and_begins_where_the_next_does_not() -> None:
    reading = read([*BODY[:3], "", *BODY[3:]], head=lambda _: "Hofstra et al.", foot=str)
    assert texts(reading) == [*BODY[:3], "", *BODY[3:]]


def test_words_cut_at_line_ends_are_whole_and_offsets_point_into_the_text_given() -> None:
    cut = [f"Water manage-\nment and the inter-\nnatio-\nnal law of meadow {name}." for name in "ABCD"]
    whole = [f"Water management and the international law of meadow {name}." for name in "ABCD"]
    reading = read(cut, head=lambda _: "Hofstra et al.", foot=str)
    assert texts(reading) == whole
    assert all(reading.text.startswith("Water management", start) for start in reading.pages)
