"""Print the recipe for conda-forge: ``python release/conda_recipe.py SDIST URL``.

Everything in it is in the sdist: name, version, requirements, command, licence, hash. URL is where
that file can be downloaded.
"""

import hashlib
import re
import sys
import tarfile
import tomllib
from email.message import Message
from email.parser import Parser
from pathlib import Path
from typing import Any

RECIPE = """\
context:
  version: "{version}"

package:
  name: {name}
  version: ${{{{ version }}}}

source:
  url: {url}
  sha256: {sha256}

build:
  number: 0
  noarch: python
  script: ${{{{ PYTHON }}}} -m pip install . -vv --no-deps --no-build-isolation
  python:
    entry_points:
{commands}

requirements:
  host:
    - python {python}
    - pip
{build}
  run:
    - python {python}
{run}

tests:
  - python:
      imports: [{name}]
      pip_check: true
  - script:
      - {name} --version
      - {name} methods

about:
  summary: {summary}
  license: {license}
  license_file: LICENSE
"""


def make_recipe(sdist: Path, url: str) -> str:
    """Return the recipe of an sdist that can be downloaded from an address."""
    metadata, project = read_sdist(sdist)
    scripts = project["project"].get("scripts", {})
    needed = [line for line in metadata.get_all("Requires-Dist", []) if "extra ==" not in line]
    lowest = metadata["Requires-Python"].removeprefix(">=")
    return RECIPE.format(
        name=metadata["Name"],
        version=metadata["Version"],
        url=url.replace(metadata["Version"], "${{ version }}"),
        sha256=hashlib.sha256(sdist.read_bytes()).hexdigest(),
        commands="\n".join(f"      - {name} = {target}" for name, target in scripts.items()),
        python=f">={lowest}",
        build=as_list(project["build-system"]["requires"]),
        run=as_list(needed),
        summary=metadata["Summary"],
        license=metadata["License-Expression"],
    )


def read_sdist(sdist: Path) -> tuple[Message, dict[str, Any]]:
    """Return the metadata and the pyproject.toml of an sdist."""
    texts = {}
    with tarfile.open(sdist) as archive:
        for member in archive:
            name = member.name.partition("/")[2]
            if name in ("PKG-INFO", "pyproject.toml"):
                file = archive.extractfile(member)
                assert file is not None
                texts[name] = file.read().decode("utf-8")
    if len(texts) < 2:
        raise SystemExit(f"{sdist} is no sdist: it lacks PKG-INFO or pyproject.toml")
    return Parser().parsestr(texts["PKG-INFO"]), tomllib.loads(texts["pyproject.toml"])


def as_list(requirements: list[str]) -> str:
    """Return requirements as conda writes them, one a line."""
    return "\n".join(f"    - {re.sub('(?<=[a-z0-9])(?=[<>=!~])', ' ', line, count=1)}"
                     for line in requirements)  # fmt: skip


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit("usage: python release/conda_recipe.py SDIST URL")
    print(make_recipe(Path(sys.argv[1]), sys.argv[2]), end="")
