"""The check of links finds broken links and accepts good ones."""

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CHECKER = runpy.run_path(str(ROOT / "docs" / "check_links.py"))


@pytest.fixture
def site(tmp_path):
    """A folder with one good page, and a function that adds another one."""
    folder = tmp_path / "html"
    (folder / "deep").mkdir(parents=True)
    (folder / "style.css").write_text("p {}")
    (folder / "with space.png").write_bytes(b"")
    (folder / "index.html").write_text('<h1 id="title">Title</h1><a name="old"></a>', "utf8")

    def add(body, name="deep/page.html"):
        (folder / name).write_text(f"<html>\n<body>\n{body}\n</body></html>", "utf8")
        return CHECKER["check"](folder)

    return add


@pytest.mark.parametrize(
    "body",
    [
        '<a href="../index.html">up</a>',
        '<a href="../index.html#title">up</a>',
        '<a href="../index.html#old">a name is an anchor, too</a>',
        '<a href="../">a folder is its index</a>',
        '<a href="#here">here</a><p id="here"></p>',
        '<a href="#">the top</a><a href="#top">the top</a>',
        '<link rel="stylesheet" href="../style.css?v=1">',
        '<img src="../with%20space.png"/>',
        '<img src="data:image/png;base64,AAAA">',
        '<a href="mailto:someone@example.org">write</a>',
        '<a href="../style.css#L3">no anchors are looked for in what is no page</a>',
        '<a href="https://example.org/a?b=c#d">elsewhere</a>',
        '<link rel="canonical" href="https://example.org/page.html">',
    ],
)
def test_good_links(site, body):
    assert site(body)[0] == []


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ('<a href="../gone.html">x</a>', "'../gone.html' is not there"),
        ('<a href="../index.html#gone">x</a>', "has an anchor that is not on the page"),
        ('<a href="#gone">x</a>', "'#gone' has an anchor that is not on the page"),
        ('<img src="gone.svg">', "'gone.svg' is not there"),
        ('<img src="gone.svg"/>', "'gone.svg' is not there"),
        ('<script src="https://example.org/a.js"></script>', "is loaded from the network"),
        ('<script src="//example.org/a.js"></script>', "is loaded from the network"),
        ('<img src="http://example.org/a.png">', "is loaded from the network"),
        ('<link rel="stylesheet" href="https://example.org/a.css">', "is loaded from the network"),
        ('<a href="../../../etc/hosts">x</a>', "leads out of the folder"),
        ('<a href="/index.html">x</a>', "starts at the root"),
        ('<a href="https://">x</a>', "is no full address"),
        ('<a href="//example.org">x</a>', "is no full address"),
        ('<a href="https://exa mple.org/">x</a>', "is no full address"),
        ('<a href="http://[x">x</a>', "is no address"),
        ('<a href="javascript:alert(1)">x</a>', "a scheme that is not expected: javascript"),
        ('<a href="file:///tmp/x">x</a>', "a scheme that is not expected: file"),
    ],
)
def test_bad_links(site, body, fault):
    (message,) = site(body)[0]
    assert message.startswith("deep/page.html:3: ")
    assert fault in message


def test_addresses_elsewhere_are_counted_once(site):
    body = '<a href="https://example.org/b">b</a><a href="https://example.org/a">a</a>' * 2
    assert site(body)[1] == ["https://example.org/a", "https://example.org/b"]


def test_the_command_prints_faults_and_fails(site, tmp_path, capsys):
    site('<a href="gone.html">x</a>')
    assert CHECKER["main"]([str(tmp_path / "html")]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "1 broken links; 0 addresses elsewhere, not followed"
    site("fine")
    assert CHECKER["main"]([str(tmp_path / "html")]) == 0


def test_only_the_first_of_many_faults_are_printed(site, tmp_path, capsys):
    site("".join(f'<a href="gone{number}.html">x</a>' for number in range(60)))
    assert CHECKER["main"]([str(tmp_path / "html")]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[-2:] == ["... and 10 more", "60 broken links; 0 addresses elsewhere, not followed"]
    assert len(lines) == 52


@pytest.mark.parametrize("arguments", [[], ["a", "b"]])
def test_the_command_prints_its_usage(arguments):
    with pytest.raises(SystemExit, match=r"usage: python docs/check_links.py FOLDER"):
        CHECKER["main"](arguments)


def test_a_folder_without_pages_is_an_error(tmp_path):
    with pytest.raises(SystemExit, match="has no page: build the documentation first"):
        CHECKER["check"](tmp_path)
