"""Keyphrases of a polars column."""

import json
from pathlib import Path

import polars as pl

import mudy.integrations.polars  # noqa: F401 (adds .mudy to expressions)

lines = Path(__file__).parents[1].joinpath("abstracts.jsonl").read_text(encoding="utf-8").splitlines()
frame = pl.DataFrame([json.loads(line) for line in lines])
print(frame.select(pl.col("text").mudy.keyphrases(speed="quick", top_n=3)).to_series().to_list())
