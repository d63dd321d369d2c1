"""Keyphrases of a Dask table, one partition at a time."""

from pathlib import Path

import dask.dataframe as dd
import pandas as pd

from mudy import Extractor


def keyphrases(part: pd.DataFrame) -> pd.DataFrame:
    results = Extractor(speed="quick", threads=1).extract_many(part["text"], top_n=5)
    return part.assign(keyphrases=["; ".join(k.text for k in result) for result in results])


if __name__ == "__main__":  # Dask may start worker processes, which import this file
    frame = pd.read_json(Path(__file__).parents[1] / "abstracts.jsonl", lines=True)[["id", "text"]]
    table = dd.from_pandas(frame, npartitions=2)
    meta = {"id": str, "text": str, "keyphrases": str}
    done = table.map_partitions(keyphrases, meta=meta).compute(scheduler="processes", num_workers=2)
    print(done["keyphrases"].tolist())
