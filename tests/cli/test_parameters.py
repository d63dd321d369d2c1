"""Words of the command line as values."""

from pathlib import Path

import pytest

from mudy.cli import parameters
from mudy.errors import SettingError


@pytest.mark.parametrize(
    ("pair", "value"),
    [
        ("lambda_=0.5", 0.5),
        ("k_attn=3", 3),
        ("mixture=off", False),
        ("sigma_related=0.2,0.1", (0.2, 0.1)),
        ("sam_layers=3,4", (3, 4)),
        ("sam_layers=none", None),
        ("sigma_cap=None", None),
        ("normalise_global=yes", True),
        ("attention=none", "none"),
    ],
)
def test_a_setting_takes_the_type_of_its_field(pair: str, value: object) -> None:
    (found,) = parameters.settings("mudy", [pair]).values()
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    "pair", ["k_attn=1.5", "alpha=nan", "mixture=maybe", "attention=Q", "weighted_layers=0,0.5,1", "w=none"]
)
def test_a_setting_of_the_wrong_type_is_refused(pair: str) -> None:
    with pytest.raises(SettingError, match="is needed"):
        parameters.settings("mudy", [pair])


def test_phrases_are_read_one_a_line_without_comments_and_blanks(folder: Path) -> None:
    (folder / "phrases.txt").write_bytes("\ufeff# mine\r\n  B2B \r\n\r\nC# language\r\n".encode())
    assert parameters.phrases_option("--candidates", "phrases.txt") == ["B2B", "C# language"]
