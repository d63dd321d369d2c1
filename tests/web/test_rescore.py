"""The numbers of the scripts are those of Python."""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING

import pytest

from mudy.extraction.explanation import heat
from mudy.extraction.ranking import rounded
from mudy.methods.mudy import final_score
from tests.browser import Visit

if TYPE_CHECKING:
    pass

pytestmark = pytest.mark.real

MODULE = "import('/static/view/rescore.js')"


def test_javascript_rounds_and_colours_as_python_does(visit: Visit) -> None:
    dice = random.Random(7)
    numbers = [dice.uniform(-9, 9) * 10 ** dice.randint(-6, 6) for _ in range(3000)]
    ties = [sign * n / 2**k for sign in (-1, 1) for k in (1, 5, 9) for n in range(100_001, 160_001, 997)]
    numbers += [*ties, 0.0, -0.0, 1.03125, -1.03125, 100005.0, 100015.0, 1e-300]
    assert visit.page.evaluate(f"async all => all.map((await {MODULE}).rounded)", numbers) == [
        rounded(number) for number in numbers
    ]
    for scores in (numbers, ties[:50] * 3, [1.0], []):
        assert visit.page.evaluate(f"async all => (await {MODULE}).heat(all)", scores) == heat(scores)


@pytest.mark.parametrize("outside", [False, True])
def test_javascript_recombines_the_parts_as_the_method_does(visit: Visit, outside: bool) -> None:
    dice = random.Random(11)
    settings = {"lambda_": 2.0, "lambda_outside": outside, "recurrence": 0.5}
    for _ in range(50):
        place = {
            "p": dice.uniform(-9, -0.1),
            "AS": dice.uniform(0, 2.5),
            "lambda": dice.uniform(0.1, 2.0),
            "m": dice.randint(1, 9),
        }
        value = dice.uniform(0, 5)
        found = visit.page.evaluate(f"async given => (await {MODULE}).rescored(...given)", [place, settings, value])
        weight = place["lambda"] * value / 2.0
        expected = final_score(place["p"], place["AS"], weight, outside=outside) / (1 + 0.5 * math.log(place["m"]))
        assert found == pytest.approx(expected, rel=1e-14)
