"""The page of MUDY and its service as a Hugging Face Space, which shows the page in a frame."""

import os

from mudy.engines import Compute
from mudy.server.config import Config
from mudy.server.launcher import listen, run_service
from mudy.server.middleware import CONTENT_POLICY, SECURITY_HEADERS

HOST, PORT = "0.0.0.0", int(os.environ.get("PORT", "7860"))  # the default is app_port in README.md
SECURITY_HEADERS["Content-Security-Policy"] = CONTENT_POLICY.replace(
    "frame-ancestors 'none'", "frame-ancestors https://huggingface.co"
)

if __name__ == "__main__":
    # Anybody may ask, so texts and waiting times are shorter than those of `mudy serve`.
    config = Config(compute=Compute(speed="fast"), queue=16, max_texts=8, max_characters=100_000, timeout=120)
    run_service(config, listen(HOST, PORT), HOST)
