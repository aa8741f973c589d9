"""Facts about what is published: versions, recipe, archives, workflows, addresses."""

import hashlib
import io
import re
import runpy
import subprocess
import tarfile
import tomllib
from pathlib import Path

import pytest

import featly
from tests.repo import public_names

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
CHECK_DIST = runpy.run_path(str(ROOT / "release" / "check_dist.py"))
RECIPE = runpy.run_path(str(ROOT / "release" / "conda_recipe.py"))


def test_the_version_is_written_once_and_cited():
    assert "version" not in PROJECT
    assert f"\nversion: {featly.__version__}\n" in (ROOT / "CITATION.cff").read_text("utf-8")


def test_the_workflows_test_the_versions_that_the_classifiers_name():
    named = re.findall(r"Python :: (3\.\d+)", " ".join(PROJECT["classifiers"]))
    workflow = (ROOT / ".github" / "workflows" / "tests.yml").read_text("utf-8")
    (tested,) = re.findall(r"python: \[(.*)\]", workflow)
    assert re.findall(r"[\d.]+", tested) == named
    assert PROJECT["requires-python"] == f">={named[0]}"


@pytest.mark.parametrize("pattern", [".github/**/*.yml", ".pre-commit-config.yaml", "*.yaml"])
def test_yaml_can_be_read(pattern):
    yaml = pytest.importorskip("yaml")
    files = [*ROOT.glob(pattern), *ROOT.glob(f".{pattern}")]
    assert files
    for file in files:
        assert isinstance(yaml.safe_load(file.read_text("utf-8")), dict), file


def test_workflows_call_what_the_makefile_has():
    makefile = (ROOT / "Makefile").read_text("utf-8")
    for file in (ROOT / ".github" / "workflows").glob("*.yml"):
        for target in re.findall(r"run: make (\S+)", file.read_text("utf-8")):
            assert f"\n{target}:" in makefile, (file.name, target)


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="not a checkout")
def test_no_file_names_a_package_index():
    hosts = re.compile("|".join(("py" + "pi.org", "ana" + "conda.org", "python" + "hosted.org")))
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True).stdout
    for name in files.split():
        path = ROOT / name
        if path.is_file():
            assert not hosts.search(path.read_text("utf8", errors="ignore")), name


@pytest.mark.parametrize(
    ("present", "fault"),
    [({"a"}, "lacks 1 files: b"), ({"a", "b", "c"}, "holds, and git does not, 1 files: c")],
)
def test_archives_hold_what_the_repository_holds(present, fault):
    CHECK_DIST["compare"]("x.whl", {"a", "b"}, {"a", "b"})
    with pytest.raises(SystemExit, match=f"x.whl {fault}"):
        CHECK_DIST["compare"]("x.whl", present, {"a", "b"})


def test_the_recipe_is_that_of_the_sdist(tmp_path):
    metadata = (
        "Metadata-Version: 2.4\nName: tool\nVersion: 1.2.3\nSummary: it does\n"
        "License-Expression: MIT\nRequires-Python: >=3.11\nRequires-Dist: numpy>=1.26\n"
        'Requires-Dist: jinja2>=3.1; extra == "report"\n'
    )
    pyproject = '[build-system]\nrequires = ["setuptools>=77"]\n[project.scripts]\ntool = "t:run"\n'
    sdist = tmp_path / "tool-1.2.3.tar.gz"
    with tarfile.open(sdist, "w:gz") as archive:
        for name, text in (("PKG-INFO", metadata), ("pyproject.toml", pyproject)):
            member = tarfile.TarInfo(f"tool-1.2.3/{name}")
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
    recipe = RECIPE["make_recipe"](sdist, "https://example.org/tool-1.2.3.tar.gz")
    lines = recipe.splitlines()
    assert "  url: https://example.org/tool-${{ version }}.tar.gz" in lines
    assert f"  sha256: {hashlib.sha256(sdist.read_bytes()).hexdigest()}" in lines
    assert "      - tool = t:run" in lines
    run = lines[lines.index("  run:") : lines.index("tests:")]
    assert run == ["  run:", "    - python >=3.11", "    - numpy >=1.26", ""]
    assert "    - setuptools >=77" in lines


def test_type_checkers_see_the_names_of_today():
    assert public_names.FILE.read_text("utf-8") == public_names.derive(), (
        "python -m tests.repo.public_names"
    )
