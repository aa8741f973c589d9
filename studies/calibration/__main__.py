"""The command of the study; see :mod:`studies.calibration`."""

import argparse
import json
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

import featly
import studies.calibration
from featly.study.plan import LIBRARIES
from studies.calibration.laws import available
from studies.calibration.parts import PARTS
from studies.calibration.run import code_digest, run_part
from studies.calibration.summary import summarise

__all__ = ["main"]

FOLDER = Path(studies.__path__[0])
TABLES = 400
MINUTES = 50


def main(arguments: list[str] | None = None) -> None:
    """Run a part, or all of them, and write its counts into the results of the label."""
    parser = argparse.ArgumentParser(
        prog="python -m studies calibration",
        description=studies.calibration.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--part", choices=[*PARTS, "all"], default="all")
    parser.add_argument("--label", default="now", help="name of the column of the page")
    parser.add_argument("--tables", type=int, default=TABLES, help="of every law")
    parser.add_argument("--minutes", type=float, default=MINUTES, help="of every part; then stop")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--aside", action="store_true", help="the two laws that were kept aside")
    options = parser.parse_args(arguments)
    for name in PARTS if options.part == "all" else [options.part]:
        aside = "-aside" if options.aside else ""
        rows = run_part(
            name,
            FOLDER / "runs" / "calibration" / f"{name}-{options.label}{aside}.jsonl",
            tables=options.tables,
            minutes=options.minutes,
            jobs=options.jobs,
            aside=options.aside,
        )
        part = PARTS[name]
        laws = available(part.aside if options.aside else part.laws)
        settings = summarise(part, laws, rows)
        section = {"about": part.about, "code": code_digest(), "settings": settings}
        file = FOLDER / "results" / f"calibration-{options.label}.json"
        write_section(file, f"{name}{aside}", section)
        print(f"{name}: {len(rows)} tables of {len(settings)} laws in {file}")


def write_section(file: Path, name: str, section: dict[str, Any]) -> None:
    """Write one part of the results; the others stay."""
    document: dict[str, Any] = {"parts": {}}
    if file.exists():
        document = json.loads(file.read_text("utf-8"))
    document["versions"] = {
        "featly": featly.__version__,
        "python": platform.python_version(),
        **{name: version(name) for name in LIBRARIES},
    }
    document["parts"][name] = section
    document["parts"] = dict(sorted(document["parts"].items()))
    file.write_text(json.dumps(document, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
