"""Keyphrases in SQL."""

from pathlib import Path

import duckdb

from mudy.integrations.duckdb import register_keyphrases

abstracts = Path(__file__).parents[1] / "abstracts.jsonl"
connection = duckdb.connect()
register_keyphrases(connection, speed="quick", top_n=3)
print(connection.execute("SELECT keyphrases(text) FROM read_json(?)", [str(abstracts)]).fetchall())
