"""Keyphrases of a Hugging Face dataset, as a new column."""

from pathlib import Path

import datasets
from datasets import load_dataset

from mudy import Extractor

extractor = Extractor(speed="quick")


def keyphrases(batch: dict) -> dict:
    results = extractor.extract_many(batch["text"], top_n=5)
    return {"keyphrases": [[keyphrase.text for keyphrase in result] for result in results]}


datasets.disable_caching()  # settings of the extractor are no part of the cache's key
table = load_dataset("json", data_files=str(Path(__file__).parents[1] / "abstracts.jsonl"), split="train")
print(table.map(keyphrases, batched=True, batch_size=256)["keyphrases"][:])
