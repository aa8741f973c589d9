"""Check a wheel and an sdist: ``python release/check_dist.py dist`` after ``python -m build``.

The files in them are compared with those of the repository; then the wheel is installed, without
extras, in an environment of its own, outside of the repository, and the demo runs there with the
commands that it prints.
"""

import os
import re
import shlex
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
# what only the repository needs
NOT_IN_SDIST = (".ci/", ".github/", ".gitignore", ".editorconfig", ".pre-commit", ".readthedocs")
MADE_BY_BUILD = re.compile(r"PKG-INFO|setup\.cfg|src/featly\.egg-info/.*")
SHOWN = 5


def main(folder: Path) -> None:
    """Check the newest wheel and sdist of a folder; a fault ends with one line that says it."""
    wheel, sdist = only_file(folder, "*.whl"), only_file(folder, "*.tar.gz")
    tracked = tracked_files()
    package = {name.removeprefix("src/") for name in tracked if name.startswith("src/featly/")}
    in_wheel = {name for name in names_in_wheel(wheel) if ".dist-info/" not in name}
    compare(wheel.name, in_wheel, package)
    wanted = {name for name in tracked if not name.startswith(NOT_IN_SDIST)}
    in_sdist = {name for name in names_in_sdist(sdist) if not MADE_BY_BUILD.fullmatch(name)}
    compare(sdist.name, in_sdist, wanted)
    print(f"{wheel.name}: {len(in_wheel)} files, {wheel.stat().st_size:,} bytes")
    print(f"{sdist.name}: {len(in_sdist)} files, {sdist.stat().st_size:,} bytes")
    run_demo(wheel)


def only_file(folder: Path, pattern: str) -> Path:
    """Return the one file of a pattern."""
    files = list(folder.glob(pattern))
    if len(files) != 1:
        raise SystemExit(f"{folder} has {len(files)} files {pattern}: there should be one")
    return files[0]


def tracked_files() -> set[str]:
    """Return the files of the repository, by git."""
    command = ["git", "ls-files", "-z"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return {name for name in listed.split("\0") if name and (ROOT / name).exists()}


def names_in_wheel(wheel: Path) -> set[str]:
    """Return the files in a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def names_in_sdist(sdist: Path) -> set[str]:
    """Return the files in an sdist, without its outermost folder."""
    with tarfile.open(sdist) as archive:
        return {member.name.partition("/")[2] for member in archive if member.isfile()}


def compare(archive: str, present: set[str], wanted: set[str]) -> None:
    """Raise an error that names files which lack or are too many."""
    for fault, names in (
        ("lacks", wanted - present),
        ("holds, and git does not,", present - wanted),
    ):
        if names:
            listed = ", ".join(sorted(names)[:SHOWN])
            raise SystemExit(f"{archive} {fault} {len(names)} files: {listed}")


def run_demo(wheel: Path) -> None:
    """Install a wheel by itself, and run the demo and the commands that it names."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        venv.create(place / "env", with_pip=True)
        binaries = place / "env" / ("Scripts" if os.name == "nt" else "bin")
        pip = [
            binaries / "python",
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
        ]
        run([*pip, wheel.resolve()], place)
        printed = run([binaries / "python", ROOT / "examples" / "cohort.py"], place)
        commands = re.findall(r"^ +featly (.*)$", printed, flags=re.MULTILINE)
        if len(commands) < 3:
            raise SystemExit("the demo names fewer than three commands: is its text another one?")
        for command in commands:
            print(f"$ featly {command}")
            run([binaries / "featly", *shlex.split(command)], place)
        print("the wheel runs the demo without extras")


def run(command: list[object], place: Path) -> str:
    """Run a command in a folder and return what it prints; its messages end this program."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    words = [str(word) for word in command]
    result = subprocess.run(words, cwd=place, env=environment, capture_output=True, text=True)
    if result.returncode:
        raise SystemExit(f"{shlex.join(words)}: code {result.returncode}\n{result.stderr}")
    return result.stdout


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit("usage: python release/check_dist.py FOLDER")
    main(Path(sys.argv[1]))
