"""The shell sessions in the guide and the README print what is shown."""

import io
import re
import runpy
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from featly.cli import main as cli
from featly.cli import printing

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "guide"
COMMANDS = {
    "command_line.md": 20,
    "advise.md": 2,
    "diagnostics.md": 1,
    "redundancy.md": 2,
    "large_tables.md": 8,
    "studies.md": 1,
    "../quickstart.md": 3,
}  # pages, and the fewest commands of each


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """Folder in which the demo has been run."""
    shell_folder = tmp_path_factory.mktemp("shell")
    runpy.run_path(str(ROOT / "examples" / "cohort.py"))["main"](shell_folder / "demo")
    return shell_folder / "demo"


@pytest.fixture
def folder(demo, tmp_path, monkeypatch):
    """A folder of its own for every page, with the demo in it."""
    (tmp_path / "demo").symlink_to(demo)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    return tmp_path


class Screen(io.BytesIO):
    """A stream whose content is written to another stream, too."""

    def __init__(self, other):
        super().__init__()
        self.other = other

    def write(self, data):
        self.other.write(data)
        return super().write(data)


@pytest.fixture
def featly(monkeypatch):
    """Run the command line in this process: code, standard output, and all that a person sees."""

    def run(arguments, stdin, *, terminal):
        seen_stream = io.BytesIO()
        out = Screen(seen_stream) if terminal else io.BytesIO()
        for name, stream in (
            ("stdout", out),
            ("stderr", seen_stream),
            ("stdin", io.BytesIO(stdin)),
        ):
            text = io.TextIOWrapper(stream, "utf-8", newline="", write_through=True)
            monkeypatch.setattr(sys, name, text)
        monkeypatch.setattr(sys, "argv", ["featly", *arguments])
        monkeypatch.setattr(printing, "is_output_terminal", lambda: terminal)
        with pytest.raises(SystemExit) as exit_info:
            cli.main()
        return exit_info.value.code, out.getvalue(), seen_stream.getvalue()

    return run


def sessions(page):
    """Yield every command of a page, with the text shown below it."""
    text = (GUIDE / page).read_text("utf8")
    for block in re.findall(r"```console\n(.*?)```", text, flags=re.DOTALL):
        for session in re.split(r"^\$ ", block.replace("\\\n", ""), flags=re.MULTILINE)[1:]:
            command, _, shown = session.partition("\n")
            yield command, shown


def make_files(page):
    """Run what the page does in Python to have a file; other pages have theirs from the demo."""
    text = (GUIDE / page).read_text("utf8")
    for code in re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL):
        if "write_csv" not in code and 'open_memmap("' not in code:
            continue
        exec(compile(code, page, "exec"), {})


def lines(text):
    """Return the lines of a text, without empty ones and without aligning blanks.

    Seconds in the last column of a table differ from run to run.
    """
    if re.search(r" s a fit *$", text, flags=re.MULTILINE):
        text = re.sub(r"^( .*) [\d.e+-]+ *$", r"\1 #", text, flags=re.MULTILINE)
    return [" ".join(line.split()) + "\n" for line in text.split("\n") if line.strip()]


def pattern(shown):
    """Return a pattern for the lines that are shown; a line ``...`` stands for any lines."""
    return "".join("(?:.*\n)*?" if line == "...\n" else re.escape(line) for line in lines(shown))


@pytest.mark.parametrize("page", COMMANDS)
def test_the_page_shows_what_is_printed(page, folder, featly):
    make_files(page)
    commands = list(sessions(page))
    assert sum(command.startswith("featly ") for command, _ in commands) >= COMMANDS[page]
    for command, shown in commands:
        name = command.removeprefix("cat ")
        if name != command and "|" not in name and not Path(name).exists():
            Path(name).write_text(shown, "utf8")  # the page shows a file that the reader makes
        out, seen, codes = b"", b"", []
        parts = command.split(" | ")
        for part in parts:
            if part.startswith("featly "):
                # a person looks at the last one, so it shows a table
                last = part is parts[-1]
                code, out, words = featly(shlex.split(part)[1:], out, terminal=last)
                seen += words
                codes.append(code)
            else:
                out = subprocess.run(part, shell=True, input=out, stdout=-1, check=True).stdout
        if not parts[-1].startswith("featly "):
            seen += out
        assert set(codes) <= {2 if "featly: " in shown else 0}, (command, seen)
        printed = "".join(lines(seen.decode()))
        assert re.search(f"(?m)^{pattern(shown)}", printed), f"$ {command}\n{printed[:2000]}"


def test_the_readme_shows_what_rank_prints(folder, featly):
    text = (ROOT / "README.md").read_text("utf8")
    ((command, shown),) = re.findall(r"```console\n\$ featly (.*?)\n(.*?)```", text, re.DOTALL)
    code, _, seen = featly(shlex.split(command), b"", terminal=True)
    assert code == 0
    assert re.fullmatch(pattern(shown), "".join(lines(seen.decode())))
