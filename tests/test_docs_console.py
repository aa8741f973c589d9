"""The shell sessions in the guide to the command line print what the page shows."""

import io
import re
import runpy
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from featly.present import cli, printing

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "guide" / "command_line.md"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where the demo has been run."""
    found = tmp_path_factory.mktemp("shell")
    runpy.run_path(str(ROOT / "examples" / "cohort.py"))["main"](found / "demo")
    return found


@pytest.fixture
def featly(monkeypatch, capsysbinary):
    """Run the command line in this process: code, standard output, standard error."""

    def run(arguments, stdin, *, terminal):
        monkeypatch.setattr(sys, "argv", ["featly", *arguments])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        monkeypatch.setattr(printing, "on_terminal", lambda: terminal)
        capsysbinary.readouterr()
        with pytest.raises(SystemExit) as ended:
            cli.main()
        printed = capsysbinary.readouterr()
        return ended.value.code, printed.out, printed.err

    return run


def sessions():
    """Every command of the page, with what is shown below it."""
    for block in re.findall(r"```console\n(.*?)```", PAGE.read_text("utf8"), flags=re.DOTALL):
        for session in re.split(r"^\$ ", block.replace("\\\n", ""), flags=re.MULTILINE)[1:]:
            command, _, shown = session.partition("\n")
            yield command, shown


def lines(text):
    """The lines of a text, without the blanks that only align them and without empty ones."""
    return [" ".join(line.split()) + "\n" for line in text.split("\n") if line.strip()]


def pattern(shown):
    """Matches the lines that are shown; a line ``...`` stands for any lines."""
    return "".join("(?:.*\n)*?" if line == "...\n" else re.escape(line) for line in lines(shown))


def test_the_page_shows_what_is_printed(folder, featly, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    commands = list(sessions())
    assert sum(command.startswith("featly ") for command, _ in commands) > 10
    for command, shown in commands:
        name = command.removeprefix("cat ")
        if name != command and "|" not in name and not Path(name).exists():
            Path(name).write_text(shown, "utf8")  # the page shows a file that the reader makes
        out, told, codes = b"", b"", []
        parts = command.split(" | ")
        for part in parts:
            if part.startswith("featly "):
                # a person looks at the last one, so it shows a table
                code, out, err = featly(shlex.split(part)[1:], out, terminal=part is parts[-1])
                told += err
                codes.append(code)
            else:
                out = subprocess.run(part, shell=True, input=out, stdout=-1, check=True).stdout
        assert set(codes) <= {2 if "featly: " in shown else 0}, (command, told)
        printed = "".join(lines((told + out).decode()))
        assert re.search(f"(?m)^{pattern(shown)}", printed), f"$ {command}\n{printed[:2000]}"
