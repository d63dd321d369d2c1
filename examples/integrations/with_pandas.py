"""Keyphrases of a pandas column."""

import json
from pathlib import Path

import pandas as pd

import mudy.integrations.pandas  # noqa: F401 (adds .mudy to columns)

lines = Path(__file__).parents[1].joinpath("abstracts.jsonl").read_text(encoding="utf-8").splitlines()
frame = pd.DataFrame(map(json.loads, lines))
frame["keyphrases"] = frame["text"].mudy.keyphrases(speed="quick", top_n=3)
print(frame["keyphrases"].tolist())
print(frame["text"].mudy.keyphrase_table(speed="quick", top_n=1))
