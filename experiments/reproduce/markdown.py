"""Numbers -> a page of Markdown: ours, the paper's behind it in brackets, and why a cell is open."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

from mudy._support.storage import atomic_write
from mudy.errors import InputError

OPEN = "–"
LEGEND = f"Ours first, *(the paper's in brackets)*; {OPEN} is a cell that was not run, see the notes."


@dataclass(frozen=True, slots=True)
class Gap:
    """Why a cell is open."""

    reason: str


@dataclass
class Page:
    """One item, as it grows."""

    item: str
    title: str
    parts: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    gaps: dict[str, list[str]] = field(default_factory=dict)  # reason -> the cells
    figures: dict[str, bytes] = field(default_factory=dict)  # file name -> PNG
    facts: list[str] = field(default_factory=list)  # command, documents, versions ...: what the page starts with

    def add(self, *parts: str) -> None:
        self.parts += parts

    def gap(self, cell: str, gap: Gap) -> None:
        """Remember why a cell is open."""
        cells = self.gaps.setdefault(gap.reason, [])
        if cell not in cells:
            cells.append(cell)

    def figure(self, name: str, png: bytes, alt: str) -> None:
        self.figures[name] = png
        self.add(f"![{alt}]({name})")

    def markdown(self) -> str:
        notes = [*self.remarks, *(f"{OPEN} {'; '.join(cells)}: {reason}" for reason, cells in self.gaps.items())]
        closing = ["## Notes", bullets(notes)] if notes else ["## Notes", "No cell is open."]
        return "\n\n".join([f"# {self.title}", *self.facts, *self.parts, *closing]) + "\n"

    def write(self, folder: Path) -> list[Path]:
        """The page and its figures in a folder; each file is whole or absent."""
        files = {**self.figures, f"{self.item}.md": self.markdown().encode()}
        try:
            return [_written(folder / name, content) for name, content in files.items()]
        except OSError as error:
            raise InputError(f"{error.filename or folder}: cannot be written ({error.strerror or error}).") from error


def _written(path: Path, content: bytes) -> Path:
    with atomic_write(path) as unfinished:
        unfinished.write_bytes(content)
    return path


def cell(ours: float | None, paper: float | str | None = None, digits: int = 1, mark: str = "") -> str:
    """A cell: "37.4 *(32.8)*"; open where there is no number of ours."""
    shown = OPEN if ours is None else f"{ours:.{digits}f}{mark}"
    printed = paper if isinstance(paper, str) or paper is None else _rounded(paper, digits)
    return shown if printed is None else f"{shown} *({printed})*"


def _rounded(printed: float, digits: int) -> str:
    """A printed number with fewer digits, halves upwards, as people round."""
    return str(Decimal(str(printed)).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP))


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> str:
    """A Markdown table; the first `left` columns are set to the left, the others to the right."""
    lines = [head, ["---"] * left + ["---:"] * (len(head) - left), *rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in lines)


def bullets(lines: Iterable[str]) -> str:
    return "\n".join(f"- {' '.join(line.split())}" for line in lines)


def literal(text: str) -> str:
    """A text that means itself in Markdown, in a table too."""
    return "".join(f"\\{character}" if character in r"\`*_{}[]<>|#" else character for character in text)


def document_counts(documents: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in documents.items())
