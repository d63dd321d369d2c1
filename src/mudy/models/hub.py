"""Models by their id on the Hugging Face hub: looked up once and briefly, then fetched into the hub's own cache.

HF_HOME, HF_ENDPOINT, HF_TOKEN and HF_HUB_OFFLINE mean what they mean to huggingface_hub; MUDY_OFFLINE forbids fetching
here too. Without the hub, what its cache holds is used.
"""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mudy.errors import ModelUnavailable
from mudy.models.fetch import FULL, Report

LOOK_UP_SECONDS = 5.0
ID = re.compile(r"\w[\w.-]*/\w[\w.-]*", re.ASCII)
# Ids without an owner are as old as the hub, and no new ones are made. These are of families that MUDY reads.
OWNERLESS = re.compile(
    r"t5-(small|base|large|3b|11b)|(distil)?gpt2|gpt2-(medium|large|xl)|(distil)?bert-base-[a-z-]+|bert-large-[a-z-]+"
    r"|(distil)?roberta-base|roberta-large|xlm-roberta-(base|large)"
)
WEIGHTS = (re.compile(r"model[\w.-]*\.safetensors"), re.compile(r"pytorch_model[\w.-]*\.bin"))  # the better one first
OTHERS = re.compile(r"[^/]+\.(json|txt|model|jinja)|additional_chat_templates/[^/]+\.jinja")
GATED = "its terms must be accepted on the hub first; then log in with `hf auth login` or set HF_TOKEN"


def is_id(name: str) -> bool:
    """Whether a name can be that of a model on the hub."""
    return bool(ID.fullmatch(name) or OWNERLESS.fullmatch(name))


class HubProblem(Exception):
    """Why the hub gave no model, as the end of a sentence."""


def snapshot(name: str, fetch: bool, report: Report) -> Path:
    """The folder of a model in the hub's cache, fetched or brought up to date if it may be and the hub answers."""
    from huggingface_hub import constants

    try:
        if not fetch:
            raise HubProblem("is not to be fetched")
        if constants.HF_HUB_OFFLINE or os.environ.get("MUDY_OFFLINE", "0") not in ("", "0"):
            raise HubProblem("HF_HUB_OFFLINE or MUDY_OFFLINE is set")
        return fetched(name, report)
    except HubProblem as problem:
        if folder := in_cache(name):
            return folder
        raise ModelUnavailable(
            f"Model {name!r} is not in the cache of the Hugging Face hub, and {problem}. Check the id, or use a known "
            "name (`mudy models`) or the path of a local folder."
        ) from problem


def fetched(name: str, report: Report) -> Path:
    """The folder with all files of a model that we read; those that the cache holds are not fetched again.

    The hub is asked once, without retries.
    """
    from huggingface_hub import HfApi, constants, snapshot_download
    from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError

    failing, total = "the hub could not be reached", 0
    try:
        info = HfApi().model_info(name, timeout=LOOK_UP_SECONDS, files_metadata=True)
        sizes = {file.rfilename: file.size or 0 for file in info.siblings or ()}
        wanted = files_to_fetch(list(sizes))
        failing, total = "fetching it failed", sum(sizes[file] for file in wanted)
        report(f"Fetching {name} from the hub ({total / 1e6:,.0f} MB, unless cached)", 0, None)
        with _without_bars():
            return Path(snapshot_download(name, allow_patterns=wanted))
    except GatedRepoError as error:
        raise HubProblem(GATED) from error
    except RepositoryNotFoundError as error:
        raise HubProblem("the hub has no model of this id, or none that you may read") from error
    except Exception as error:  # of whichever HTTP library the hub's client uses
        if isinstance(error, OSError) and error.errno in FULL:
            raise ModelUnavailable(
                f"Model {name!r} cannot be kept in {constants.HF_HUB_CACHE}: {error.strerror} "
                f"({total / 1e9:.1f} GB are needed). Set HF_HOME to a folder that has room."
            ) from error
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
        raise HubProblem(f"{failing} ({reason})") from error


def files_to_fetch(names: list[str]) -> list[str]:
    """Weights in one format, settings and tokenizer; no code, and no weights for other libraries."""
    weights = next((found for kind in WEIGHTS if (found := [n for n in names if kind.fullmatch(n)])), [])
    return [name for name in names if OTHERS.fullmatch(name)] + weights


def in_cache(name: str) -> Path | None:
    """The folder of a model whose settings and weights the hub's cache holds, without asking the hub."""
    from huggingface_hub import try_to_load_from_cache

    config = try_to_load_from_cache(name, "config.json")
    if not isinstance(config, str):
        return None
    folder = Path(config).parent
    has_weights = any(kind.fullmatch(path.name) for kind in WEIGHTS for path in folder.iterdir())
    return folder if has_weights else None


@contextmanager
def _without_bars() -> Iterator[None]:
    from huggingface_hub.utils.tqdm import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars

    before = are_progress_bars_disabled()
    disable_progress_bars()
    try:
        yield
    finally:
        if not before:
            enable_progress_bars()
