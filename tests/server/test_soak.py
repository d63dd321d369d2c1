"""Memory over many requests: it levels off."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from mudy.reading.candidates.stemming import stem_of

ROOT = Path(__file__).parents[2]
SETTLED, REQUESTS = 30, 300
MOST_GROWTH = 150  # MB

SOAK = f"""
import random, re
from pathlib import Path
from mudy import Extractor
from mudy.server.queue import RequestQueue
from tempfile import mkdtemp
from tests import small
from tests.engines.light import saved
from tests.taggers import english
from tests.server.gate import asking, local_scorers

def load():
    made = Extractor("mudy", "small", language=english(), mixture=False, sam_layers=(1,))
    made.loader.in_memory["backbone"] = saved.light_decoder(saved.decoder_folder(Path(mkdtemp()), "llama"))
    return made

def resident():
    return int(re.search(r"VmRSS:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) // 1024

queue, words, chance = RequestQueue(local_scorers(load)), small.TEXT.split(), random.Random(0)
queue.start()
for number in range(1, {REQUESTS + 1}):
    text = " ".join(chance.choice(words) for _ in range(chance.randint(5, 120)))
    queue.admit(asking(text)).answer.result()
    if number in ({SETTLED}, {REQUESTS}):
        print("resident", resident(), flush=True)
queue.stop()
"""


@pytest.mark.load
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
def test_memory_levels_off_over_texts_of_ever_new_lengths() -> None:
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", SOAK], cwd=ROOT, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-2000:]
    settled, last = map(int, re.findall(r"resident (\d+)", done.stdout))
    print(f"{settled} MB after {SETTLED} requests, {last} MB after {REQUESTS}")
    assert last - settled < MOST_GROWTH


def test_stems_are_remembered_for_a_bounded_number_of_words() -> None:
    assert stem_of.cache_info().maxsize is not None
