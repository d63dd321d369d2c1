"""Run KeyBERT's own tests against the front that answers its calls.

    python -m tools.keybert_suite   in the root; further arguments are those of pytest

The tests come from KeyBERT's source distribution, which pip downloads into a temporary folder. They need two texts that
the distribution lacks, and scikit-learn's newsgroups, which would be downloaded; texts written here take their place.
Tests of what is refused are expected to fail: `REFUSED` says why.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parent.parent
KEYBERT = "keybert==0.9.0"
REFUSED = {"test_extract_embeddings": "vectors of other models are refused: texts and phrases are read by MUDY's own"}

TEXTS = (  # the tests look for "praise" in the first alone
    """
I wonder why nobody here writes about the big win of our rowing club last weekend. Well, it is time for a bit of praise:
the young crew beat the favourites by two lengths, in heavy rain and against the wind. The cox was brilliant, and the
new boat is much faster than the old one. Only the final race of the season was a disappointment. Next year the coach
should let the same rowers start again!
""",
    """
You can watch the regatta from home. Channel 4 shows the morning races, and the finals are on the radio at 7:30. I put
two screens side by side in my kitchen and followed both events on the same afternoon. The commentators were good: they
explained the rules to an audience that knows little about rowing.
""",
)
CONFTEST = """\
import pytest
import sklearn.datasets

from tests.utils import get_test_data

sklearn.datasets.fetch_20newsgroups = lambda **_: {{"data": list(get_test_data()) * 25}}


def pytest_collection_modifyitems(items):
    for item in items:
        if item.name in {refused!r}:
            item.add_marker(pytest.mark.xfail(reason={refused!r}[item.name], strict=True))
"""


def unpack(folder: Path) -> None:
    """KeyBERT's tests in a folder, with our front under the name that they import."""
    download = ["download", "--quiet", "--no-deps", "--no-binary", ":all:", "--dest", str(folder), KEYBERT]
    subprocess.run([sys.executable, "-m", "pip", "--disable-pip-version-check", *download], check=True)
    (archive,) = folder.glob("*.tar.gz")
    with tarfile.open(archive) as packed:
        (member,) = (name for name in packed.getnames() if name.endswith("/tests/test_model.py"))
        suite = packed.extractfile(member)
        assert suite is not None
        files = {
            "keybert.py": "from mudy.integrations.keybert import KeyBERT\n",
            "conftest.py": CONFTEST.format(refused=REFUSED),
            "tests/__init__.py": "",
            "tests/utils.py": f"def get_test_data():\n    return {TEXTS!r}\n",
            "tests/test_model.py": suite.read().decode(),
        }
    (folder / "tests").mkdir()
    for name, content in files.items():
        (folder / name).write_text(content, encoding="utf-8")


def main() -> None:
    with TemporaryDirectory() as made:
        folder = Path(made)
        unpack(folder)
        path = os.pathsep.join([str(folder), str(ROOT / "src")])
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-rx", *sys.argv[1:], "tests"]
        sys.exit(subprocess.run(command, cwd=folder, env={**os.environ, "PYTHONPATH": path}).returncode)


if __name__ == "__main__":
    main()
