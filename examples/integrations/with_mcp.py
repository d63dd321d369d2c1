"""Ask `mudy mcp` as an assistant does: read a document, then extract its keyphrases."""

import asyncio
import sys
from pathlib import Path

from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

FOLDER = str(Path(__file__).parents[1])
SERVER = StdioServerParameters(
    command=sys.executable, args=["-m", "mudy", "mcp", "--speed", "quick", "--folder", FOLDER]
)


async def main() -> None:
    async with Client(stdio_client(SERVER)) as client:
        document = await client.call_tool("read_document", {"path": "floodplain.txt"})
        text = document.structured_content["text"]
        answer = await client.call_tool("extract_keyphrases", {"text": text, "top_n": 5})
        print([keyphrase["text"] for keyphrase in answer.structured_content["keyphrases"]])


asyncio.run(main())
