"""Mark-up, code, citations, addresses, pronouns, footnote numbers and verbs of headlines are no part of a phrase."""

import pytest

from mudy.extraction.promptrank_protocol import promptrank_candidates, promptrank_text
from mudy.reading.candidates import candidates
from mudy.reading.candidates.grammar import no_prose
from tests.growth import is_linear
from tests.tagged import tagged
from tests.taggers import english


def phrases(text: str) -> list[str]:
    return [candidate.phrase for candidate in candidates(english().document(text))]


def marked(text: str) -> list[str]:
    return [span.of(text) for span in no_prose(text)]


@pytest.mark.parametrize(
    "word",
    [
        "@inproceedings{barbaresi-2021-trafilatura",
        "https://example.org/a",
        "www.example.org",
        "me@example.org",
        "my_module.run",
        "get_tokens()",
        "std::vector",
        "self->value",
        "\\alpha",
        "width=300",
        "<div",
        "&nbsp;",
        "x^2",
        "2.0.17",
        "v1.9",
        "2023-05-11",
        "6/25/2008",
    ],
)
def test_a_word_of_mark_up_code_or_an_address_is_no_phrase(word: str) -> None:
    found = candidates(tagged(f"river {word}/NN ice"))
    assert [candidate.phrase for candidate in found] == ["river", "ice"]


@pytest.mark.parametrize(
    "word", ["C++", "C#", "AT&T", "TCP/IP", "COVID-19", "U.S.", "O'Brien", "node.js", "CO2", "word2vec", "3D"]
)
def test_names_with_marks_in_them_stay_phrases(word: str) -> None:
    assert [candidate.phrase for candidate in candidates(tagged(f"{word}/NNP"))] == [word.lower()]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("see @article{smith-2020,\n title = {Rivers},\n}", ["@article{smith-2020", "title = {"]),
        ('<a href="x.html" rel=next>the link</a> <br/>', ['<a href="x.html" rel=next>', "</a>", "<br/>"]),
        ("if x <y and z> w", []),
        ("as \\citep[p. 3]{kim2020,lee21} and \\emph{river ice}", ["\\citep[p. 3]{kim2020,lee21}", "\\emph"]),
        ("so (Smith, 2019), [Kim and Lee, 2020b]", ["(Smith, 2019)", "[Kim and Lee, 2020b]"]),
        (
            "(see Hofstra et al., 2018; O'Neil & Park, 2019) and Webb et al. say",
            ["(see Hofstra et al., 2018; O'Neil & Park, 2019)", "Webb et al."],
        ),
        ("in spring (May 2019) and the river (2020)", []),
        ("Run:\n```python\nimport numpy\n```\nDone.", ["```python\nimport numpy\n```"]),
        ("An unclosed ``` fence hides nothing.", []),
        ("pass --save-text=FILE, not -v or --x", ["--save-text=FILE"]),
        ("frozen--or thawed -- ice, and/or snow", []),
        ("in /var/lib/ice and ~/ice/map.txt or notes.txt.", ["/var/lib/ice", "~/ice/map.txt", "notes.txt"]),
        ("node.js, coverage.py, pyproject.toml and TCP/IP", []),
    ],
)
def test_mark_up_and_citations_are_found_where_they_stand(text: str, found: list[str]) -> None:
    assert marked(text) == found


def test_no_phrase_holds_mark_up_or_a_citation() -> None:
    text = (
        "River ice is thin (Hofstra et al., 2018), as it was said by Webb et al. in \\cite{webb2019}.\n"
        "@inproceedings{barbaresi-2021-trafilatura,\n  booktitle = {Ice roads of the north},\n}\n"
        "```python\nimport numpy as array\n```\n"
    )
    assert phrases(text) == ["river ice", "ice roads", "north"]


@pytest.mark.parametrize("pronoun", ["Everybody", "nothing", "someone", "Anything", "others", "none"])
def test_a_pronoun_is_no_phrase(pronoun: str) -> None:
    found = candidates(tagged(f"{pronoun}/NN likes/VBZ river ice . new/JJ {pronoun}/NN"))
    assert [candidate.phrase for candidate in found] == ["river ice"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Phone Anxiety2 . anxiety", ["phone anxiety", "anxiety"]),
        ("river³ ice", ["river³ ice"]),
        ("thin rivers¹²", ["thin rivers"]),
        ("Python3 . python3 . python", ["python3", "python"]),
        ("Python3", ["python3"]),
        ("CO2 . co . MP3 . mp", ["co2", "co", "mp3", "mp"]),
    ],
)
def test_the_number_of_a_footnote_is_no_part_of_a_phrase(text: str, found: list[str]) -> None:
    assert [candidate.phrase for candidate in candidates(tagged(text))] == found


@pytest.mark.parametrize(
    ("headline", "found"),
    [
        ("Senate Passes Budget Bill After Long Debate", ["senate", "budget bill", "long debate"]),
        ("Apple Unveils New Phone", ["apple", "new phone"]),
        ("APPLE UNVEILS NEW PHONE", ["apple", "new phone"]),
        ("Machine Learning Models Predict Crop Yields", ["machine learning models", "crop yields"]),
        ("Deep Residual Learning for Image Recognition", ["deep residual learning", "image recognition"]),
        ("Support Vector Machines and Kernel Methods", ["support vector machines", "kernel methods"]),
    ],
)
def test_a_headline_is_parted_at_its_verb(headline: str, found: list[str]) -> None:
    assert phrases(f"{headline}\n\nIt is so.") == found


def test_the_published_protocol_knows_none_of_these_rules() -> None:
    text, _ = promptrank_text(
        "everybody reads foo_bar, said webb et al. and phone anxiety2 of anxiety. senate passes bill"
    )
    found = [candidate.phrase for candidate in promptrank_candidates(english().document(text))]
    assert {"everybody", "foo_bar", "phone anxiety2"} <= set(found)


@pytest.mark.parametrize(
    "piece",
    [
        "(Aa Aa, ",
        "(Aa and ",
        "<a ",
        "<a b",
        "\\cite[",
        "\\cite{",
        "@aa{",
        "``` a ",
        "A",
        "Aa et ",
        "aa = ",
        "(Aa, 2019; ",
        "--aa-",
        "/a/",
        "a.",
        "a.txt",
    ],
)
def test_looking_for_mark_up_takes_linear_time(piece: str) -> None:
    assert is_linear(lambda text: list(no_prose(text)), lambda size: piece * (size // len(piece)), 200_000)
