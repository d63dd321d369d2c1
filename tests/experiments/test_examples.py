"""The tables and the picture of what examples are worth."""

from pathlib import Path

from experiments.examples import NUMBERS, TITLES, draw, spread, table

CURVES = {name: {0: [20.0], **{number: [20.0 + number, 22.0 + number] for number in NUMBERS}} for name in TITLES}


def test_a_row_has_the_mean_and_the_deviation_over_draws() -> None:
    head, _, *rows = table({"subjects": CURVES, "its kind": CURVES})
    assert head.count("examples") == 6
    assert rows[0] == "| WikiHow | subjects | 20.0 | 24.0 ±1.0 | 26.0 ±1.0 | 31.0 ±1.0 | 41.0 ±1.0 | 71.0 ±1.0 |"
    assert rows[6].startswith("| WikiHow | tags |")
    assert spread([3.0]) == "3.0"


def test_the_picture_is_drawn(tmp_path: Path) -> None:
    draw(CURVES, tmp_path / "curves.png")
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")
