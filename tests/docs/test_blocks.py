"""The blocks of the README and of the pages in docs/, run as they stand in a copy of the clone.

Models are small random ones under the names of the real ones, but where a page shows what a block prints; `make
test-slow` also runs the README's blocks with the real models. Only three commands are not run as they are: `pip` and
`make` would change the environment, so what they are asked for is noted; `mudy serve` runs behind the next lines, on a
free port.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from tests.docs.conftest import FIRST_PAGES, needs_shell
from tools.doc_blocks import PAGES, ROOT, Block, blocks, outputs, run_python, run_shell
from tools.side_by_side import OURS, ours, read_table

WORDS = 700  # of the README at most
README = ROOT / "README.md"
SPEEDS = ROOT / "benchmarks" / "results" / "speeds.md"
ALL = blocks()
SHOWN = [block for block in ALL if block.output is not None]
SHELL = [block for block in ALL if block.kind == "sh"]
RUN = [block for block in ALL if block.runs and block.output is None]
RUN_SHELL = [block for block in RUN if block.kind == "sh"]
REASONS = {
    "it fetches an encoder",
    "it installs",
    "it needs a chat server",
    "it needs Docker",
    "it needs a heavy package",
    "it needs Spark",
    "it needs the data sets",
    "the files are yours",
}


def test_what_is_not_run_says_why() -> None:
    assert {block.why for block in ALL if block.why} <= REASONS


def test_a_block_of_output_stands_below_a_block_that_prints_it() -> None:
    assert [str(block) for block in ALL if block.kind == "text"] == []
    assert [str(block) for block in SHOWN if not block.runs] == []


def test_the_readme_can_be_read_in_a_few_minutes() -> None:
    shown = re.sub(r"<!--.*?-->", "", README.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert len(shown.split()) <= WORDS


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_to_a_file_leads_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    assert [link for link in links if not link.startswith("http") and not (page.parent / link).exists()] == []


@pytest.mark.slow
@needs_shell
@pytest.mark.parametrize("block", [block for block in RUN_SHELL if block.page not in FIRST_PAGES], ids=str)
def test_commands_run_as_they_stand(block: Block, clone: Path, small_home: Path) -> None:
    run_shell(block, clone, MUDY_HOME=str(small_home), MUDY_OFFLINE="1")


def test_python_runs_as_it_stands(clone: Path, small_home: Path) -> None:
    asked = [block for block in RUN if block.kind == "python"]
    assert len(run_python(asked, clone, MUDY_HOME=str(small_home), MUDY_OFFLINE="1")) == len(asked)


@pytest.mark.slow
@pytest.mark.real
@needs_shell
def test_the_readmes_commands_run_one_after_another_with_the_real_models(clone: Path) -> None:
    for block in RUN_SHELL:
        if block.page == README:
            run_shell(block, clone)


def alike(printed: str, shown: str) -> bool:
    """Whether two outputs are the same, but for small differences of scores and for seconds."""
    lists = [re.sub(r"\d\.\d s\b", "", text).split() for text in (printed, shown)]
    return len(lists[0]) == len(lists[1]) and all(map(_same, *lists))


def _same(word: str, other: str) -> bool:
    numbers = [re.findall(r"\d+\.\d+", text) for text in (word, other)]
    if re.sub(r"\d+\.\d+", "#", word) != re.sub(r"\d+\.\d+", "#", other):
        return False
    return all(float(a) == pytest.approx(float(b), abs=0.02) for a, b in zip(*numbers, strict=True))


def test_outputs_are_alike_only_with_the_same_words_and_near_scores() -> None:
    assert alike("('river', 0.361) 7", "('river', 0.37)  7")
    assert not alike("('river', 0.36) 7", "('flood', 0.36) 7")
    assert not alike("('river', 0.36) 7", "('river', 0.36) 8")
    assert not alike("('river', 0.36)", "('river', 0.39)")
    assert not alike("river", "river flood")


@pytest.mark.slow
@pytest.mark.real
@needs_shell
def test_blocks_print_what_the_pages_show(clone: Path) -> None:
    printed = outputs(clone, SHOWN)
    assert [f"{block}: {printed[block]}" for block in SHOWN if not alike(printed[block], block.output or "")] == []


@pytest.mark.slow
@pytest.mark.real
@pytest.mark.parametrize("guide", OURS)
def test_our_lists_in_the_guides_are_those_that_are_found(guide: str) -> None:
    shown = read_table(guide)
    assert ours(guide).items() <= shown.items()
    assert shown.keys() > OURS[guide].keys()


def test_the_readme_shows_the_command_that_make_run_ends_with() -> None:
    command = re.search(r"bin/(mudy extract .*)", (ROOT / "Makefile").read_text())
    assert command is not None
    assert f"{command[1]}\n" in [block.code for block in SHOWN if block.page == README]


def test_every_file_that_a_command_names_is_in_the_clone() -> None:
    named = {name for block in SHELL for name in re.findall(r"examples/[\w./]+\w", block.code) if block.why is None}
    assert named
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_pip_is_asked_for_extras_that_there_are() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    lines = [line for block in SHELL for line in block.code.splitlines() if line.startswith("pip ")]
    assert lines
    for line in lines:
        for asked in re.findall(r"\[([\w,-]+)\]", line):
            assert set(asked.split(",")) <= extras.keys(), line


@pytest.mark.parametrize("name", ["README.md", "docs/quickstart.md"])
def test_a_page_that_installs_from_the_index_says_that_this_is_not_possible_yet(name: str) -> None:
    text = " ".join((ROOT / name).read_text(encoding="utf-8").split())
    assert "pip install mudy" in text
    assert "not on the package index yet" in text


def test_the_pages_give_the_cpu_seconds_that_were_measured() -> None:
    measured = dict(re.findall(r"^\| (\w+ \w+) \| (\d+\.\d+) \|$", SPEEDS.read_text(encoding="utf-8"), re.MULTILINE))
    table = (ROOT / "docs" / "choose.md").read_text(encoding="utf-8")
    for call, name in {
        "Extractor()": "mudyplus fast",
        'Extractor(speed="quick")': "mudyplus quick",
        'Extractor(speed="exact")': "mudyplus exact",
        'Extractor(method="embedrank")': "embedrank exact",
        'Extractor(method="yake")': "yake exact",
    }.items():
        assert re.search(rf"\| `{re.escape(call)}` \|.*\| {float(measured[name]):.2f} \|\n", table), call
    assert f"{float(measured['mudyplus fast']):.2f} CPU-seconds" in README.read_text(encoding="utf-8")
