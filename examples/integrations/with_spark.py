"""Keyphrases of a Spark table: each task loads the models once."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
from pyspark.sql import SparkSession

SCHEMA = "id string, keyphrases array<struct<rank: int, text: string, score: double>>"


def keyphrases(batches: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    from mudy import Extractor

    extractor = Extractor(speed="quick", threads=1)
    for batch in batches:
        lists = [[(k.rank, k.text, k.score) for k in r] for r in extractor.extract_many(batch["text"], top_n=5)]
        yield pd.DataFrame({"id": batch["id"].astype(str), "keyphrases": lists})


os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # where MUDY is installed on the workers
spark = SparkSession.builder.master("local[2]").getOrCreate()
table = spark.read.json(str(Path(__file__).parents[1] / "abstracts.jsonl"))
for row in table.mapInPandas(keyphrases, SCHEMA).collect():
    print(row.id, [keyphrase.text for keyphrase in row.keyphrases])
