"""Install everything that Bayou is developed and tested with: Python packages into .venv, Node.js's into node_modules.

Needs Python 3.11 and nothing else; uses uv where there is one. What is installed is what the lock files say, checked by
hash. A stamp remembers what it was made from: while that is unchanged, nothing is fetched or even asked for.

    python scripts/bootstrap.py                    install what is missing
    python scripts/bootstrap.py lock [--upgrade]   write the lock files anew
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
NODE_MODULES = ROOT / "node_modules"
LOCK = ROOT / "locks" / "dev.txt"


def main() -> None:
    """Do what the command line says."""
    match sys.argv[1:]:
        case []:
            ensure(VENV, python_fingerprint(), install_python, is_sound=python_runs)
            ensure(NODE_MODULES, node_fingerprint(), install_node, is_sound=(NODE_MODULES / "azurite").is_dir)
        case ["lock", *options]:
            lock(options)
        case _:
            sys.exit(__doc__)


def ensure(folder: Path, fingerprint: str, install: Callable[[], None], *, is_sound: Callable[[], bool]) -> None:
    """Make the folder anew unless it was completely made from the same things, at the same place, and still works."""
    stamp = folder / ".bayou-stamp"
    if stamp.is_file() and stamp.read_text() == fingerprint and is_sound():
        return
    shutil.rmtree(folder, ignore_errors=True)
    install()
    stamp.write_text(fingerprint)  # last: an installation that was interrupted has none


def python_fingerprint() -> str:
    """Change with the packages, our own metadata, the interpreter and the place, but not with the settings of tools."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    relevant = [project["build-system"], project["project"], project["dependency-groups"], project["tool"]["hatch"]]
    return digest(str(ROOT), interpreter(), sys.version, json.dumps(relevant, sort_keys=True), LOCK.read_text())


def node_fingerprint() -> str:
    """Change when the packages change."""
    return digest((ROOT / "package-lock.json").read_text())


def digest(*parts: str) -> str:
    """One hash of several texts."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def interpreter() -> str:
    """The interpreter behind this one, which may be a link in the very environment that is to be replaced."""
    return os.path.realpath(sys.executable)


def python_runs() -> bool:
    """Whether the environment has a working interpreter that finds the project."""
    return succeeds(PYTHON, "-c", "import bayou.errors")


def install_python() -> None:
    """Make the environment: the locked packages first, then the project itself, editable, built with what is there."""
    locked = ("--require-hashes", "--no-deps", "--requirement", LOCK)
    ours = ("--no-deps", "--no-build-isolation", "--editable", ROOT)
    if succeeds("uv", "--version"):
        say("Python packages, with uv")
        run("uv", "venv", "--quiet", "--no-project", "--python", interpreter(), VENV)
        run("uv", "pip", "install", "--quiet", "--python", PYTHON, *locked)
        run("uv", "pip", "install", "--quiet", "--python", PYTHON, "--offline", *ours)
    else:
        say("Python packages, with pip (some minutes; faster where uv is on the PATH)")
        if not succeeds(interpreter(), "-m", "venv", VENV):
            sys.exit("Python's venv module does not work here: install uv, or your system's package python3-venv.")
        pip = (PYTHON, "-m", "pip", "--disable-pip-version-check", "-qq")
        run(*pip, "install", *locked)
        run(*pip, "install", "--no-index", *ours)


def install_node() -> None:
    """Fill node_modules, with the Node.js that came with the Python packages."""
    say("Node.js packages")
    npm("ci")


def lock(options: list[str]) -> None:
    """Write down versions and hashes, and not from where: any index that has the same files will do."""
    scope = ("--group", "dev", "--universal", "--python-version", "3.11")
    form = ("--generate-hashes", "--no-emit-index-url", "--no-emit-find-links", "--no-annotate")
    compile_command = ("--quiet", "--custom-compile-command", "make lock", "--output-file", LOCK)
    run(VENV / "bin" / "uv", "pip", "compile", "pyproject.toml", *scope, *form, *compile_command, *options)
    npm("update" if "--upgrade" in options else "install", "--package-lock-only")


def npm(*arguments: str) -> None:
    """Run npm, whose own scripts look for `node` on the PATH."""
    path = os.pathsep.join([str(VENV / "bin"), os.environ.get("PATH", os.defpath)])
    run(VENV / "bin" / "npm", *arguments, "--loglevel=error", env={**os.environ, "PATH": path})


def succeeds(*command: str | Path) -> bool:
    """Whether a command exists and ends well. Its output is of no interest."""
    try:
        return subprocess.run(command, capture_output=True, check=False, cwd=ROOT).returncode == 0
    except OSError:
        return False


def run(*command: str | Path, env: dict[str, str] | None = None) -> None:
    """Run a command that has to succeed."""
    status = subprocess.run(command, check=False, cwd=ROOT, env=env, stdin=subprocess.DEVNULL).returncode
    if status != 0:
        sys.exit(f"Failed with status {status}: {' '.join(map(str, command))}")


def say(what: str) -> None:
    """Tell what takes a while."""
    print(f"Installing: {what} …", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
