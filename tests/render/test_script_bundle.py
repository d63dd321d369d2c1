"""Modules become one script that a browser can run without fetching anything."""

from importlib.resources import files
from pathlib import Path

import pytest

from mudy.render.script_bundle import bundle


def written(folder: Path, **sources: str) -> Path:
    for name, source in sources.items():
        path = folder / f"{name.replace('__', '/')}.js"
        path.parent.mkdir(exist_ok=True)
        path.write_text(source)
    return folder


def test_modules_come_once_and_after_what_they_import(tmp_path: Path) -> None:
    folder = written(
        tmp_path,
        main='import {\n  a,\n  b,\n} from "./parts/ab.js";\nimport {c} from "./parts/c.js";\nconsole.log(a, b, c);\n',
        parts__ab='import {c} from "./c.js";\nexport const a = c;\nexport function b() {}\nconst hidden = 1;\n',
        parts__c="export class c {}\nexport {};\nexport async function* d() {}\n",
    )
    script = bundle(folder, "main.js")
    assert [script.count(f'modules["{path}"] =') for path in ("parts/c.js", "parts/ab.js", "main.js")] == [1, 1, 1]
    assert script.index('modules["parts/c.js"] =') < script.index('modules["parts/ab.js"] =')
    assert 'const {c} = modules["parts/c.js"];' in script
    assert "return {a, b};" in script
    assert "return {c, d};" in script
    assert "import" not in script
    assert "export" not in script


@pytest.mark.parametrize(
    "source",
    [
        'import * as all from "./other.js";\n',
        'import {a as b} from "./other.js";\n',
        'import "./other.js";\n',
        "export default 1;\n",
        "export let a = 1;\n",
        'export {a} from "./other.js";\n',
        'import {a} from "package";\n',
    ],
)
def test_other_forms_of_import_and_export_raise(tmp_path: Path, source: str) -> None:
    folder = written(tmp_path, main=source, other="export const a = 1;\n")
    with pytest.raises(ValueError, match="cannot hold"):
        bundle(folder, "main.js")


def test_a_circle_of_imports_raises(tmp_path: Path) -> None:
    folder = written(tmp_path, a='import {b} from "./b.js";\n', b='import {a} from "./a.js";\n')
    with pytest.raises(ValueError, match=r"a\.js -> b\.js -> a\.js"):
        bundle(folder, "a.js")


def test_the_script_of_a_report_holds_the_view_and_nothing_of_the_page() -> None:
    script = bundle(files("mudy").joinpath("web"), "report.js")
    assert 'modules["view/view.js"]' in script
    assert "app/" not in script
    assert "fetch(" not in script
