"""Acronyms and what they stand for."""

import re
from time import process_time

import pytest

from mudy.reading.candidates import Candidate, Occurrence
from mudy.reading.candidates.acronyms import defined_acronyms, expanded, stands_for
from mudy.reading.document import Span


def candidates_of(text: str, *phrases: str) -> list[Candidate]:
    """Phrases with every occurrence as whole words, in any casing."""
    return [
        Candidate(
            phrase,
            tuple(
                Occurrence(Span(*match.span()), 0)
                for match in re.finditer(rf"\b{re.escape(phrase)}\b", text, re.IGNORECASE)
            ),
        )
        for phrase in phrases
    ]


def defined(text: str, *phrases: str) -> dict[str, str]:
    return defined_acronyms(text, candidates_of(text, *phrases))


@pytest.mark.parametrize(
    "text",
    [
        "Fast inverse kinematics (IK) for robots.",
        "Fast Inverse\nKinematics (“IK”) for robots.",
        "IK (inverse kinematics) is fast.",
        "The *IK* (the inverse kinematics, that is) is fast.",
        "Fast inverse kinematics (IK; see below) for robots.",
        "Fast inverse kinematics (IKs) for robots; IK again.",
        "Schnelle inverse kinematics（IK）",
    ],
)
def test_an_acronym_is_defined_in_parentheses_or_in_front_of_them(text: str) -> None:
    assert defined(text, "inverse kinematics", "ik", "iks") == dict.fromkeys(("ik", "iks"), "inverse kinematics")


@pytest.mark.parametrize(
    ("acronym", "words", "long"),
    [
        ("IK", "fast inverse kinematics", "inverse kinematics"),
        ("HMM", "so-called hidden Markov model", "hidden Markov model"),
        ("XML", "the extensible markup language", None),  # x begins no word
        ("DOF", "degrees of freedom", "degrees of freedom"),
        ("PSMA", "prostate-specific membrane antigen", "prostate-specific membrane antigen"),
        ("EEE", "energy-efficient Ethernet", "energy-efficient Ethernet"),  # not the three letters of Ethernet
        ("HT", "severe hypertension", "hypertension"),
        ("R&D", "research and development", "research and development"),
        ("IK", "inverse kinematics of robots", None),  # it does not stand for the last word
        ("TAI", "the International Atomic Time", "International Atomic Time"),  # of another language
        ("KI", "inverse kernels", None),  # two letters in another order
        ("NATO", "the treaty", None),
        ("IK", "", None),
    ],
)
def test_the_letters_of_an_acronym_occur_in_its_long_form_in_order(acronym: str, words: str, long: str | None) -> None:
    start = stands_for(acronym, words)
    assert (None if start is None else words[start:]) == long


@pytest.mark.parametrize(
    "text",
    [
        "The inverse kinematics (see below) of robots, and Ik.",
        "The inverse kinematics (I) of robots.",
        "The inverse kinematics (2004) of robots, IK.",
        "The inverse kinematics (USA) of robots, IK.",
        "The inverse kinematics, which is solved (IK).",
        "The inverse kinematics (ik) of robots.",
    ],
)
def test_what_only_stands_in_parentheses_is_no_acronym(text: str) -> None:
    assert defined(text, "inverse kinematics", "ik", "usa", "see") == {}


def test_both_forms_are_candidates() -> None:
    text = "Fast inverse kinematics (IK)."
    assert defined(text, "inverse kinematics") == {}
    assert defined(text, "ik") == {}


def test_an_acronym_with_two_meanings_has_none() -> None:
    text = "A personal computer (PC) at the police college (PC); two personal computers (PCs)."
    phrases = ("personal computer", "personal computers", "pc", "pcs")
    assert defined(text, *phrases, "police college") == {}
    assert defined(text, *phrases)["pc"] in ("personal computer", "personal computers")


def test_a_word_that_is_also_written_in_small_letters_is_no_acronym() -> None:
    phrases = ("acquired immune deficiency syndrome", "aids", "hearing aids")
    text = "Acquired immune deficiency syndrome (AIDS) spreads. "
    assert defined(text, *phrases)["aids"] == "acquired immune deficiency syndrome"
    assert defined(text + "Hearing aids help.", *phrases) == {}


def test_an_acronym_is_not_the_plural_of_another() -> None:
    text = "A general practitioner (GP) has a global positioning system (GPS). GP, GPS."
    found = defined(text, "general practitioner", "gp", "global positioning system", "gps")
    assert found["gp"] == "general practitioner"
    assert found["gps"] == "global positioning system"


def test_an_acronym_inside_a_long_form_is_spelled_out_too() -> None:
    text = "The precision time protocol (PTP) and the PTP hardware clock (PHC)."
    found = defined(text, "precision time protocol", "ptp", "ptp hardware clock", "phc")
    assert found["phc"] == "precision time protocol hardware clock"
    assert expanded("PTP hardware clock", found) == found["phc"]


@pytest.mark.parametrize("unit", ["(", "A (", "IK (I", "(IK) ", "(AAAAAAAAAA) ", "a" * 50 + "(AAAAA", "A.A(A.A.A.A"])
def test_time_grows_with_the_text_alone(unit: str) -> None:
    text = unit * (400_000 // len(unit))
    start = process_time()
    defined_acronyms(text, [])
    assert process_time() - start < 10
