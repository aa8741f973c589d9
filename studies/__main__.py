"""``python -m studies [name ...] [--jobs N]``: run studies, write the results to be committed.

A run that was stopped goes on where it was: its journal is in ``studies/runs``. The parts that are
small enough to be committed, the plan with data hashes, versions and seeds, the summary and the
verdicts, goes to ``studies/results``; the documentation is made from that.

``python -m studies calibration --help``: how often featly itself is wrong, with options of its own.
"""

import argparse
import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from featly.study import Results, Study

FOLDER = Path(__file__).parent
NAMES = (
    "advice",
    "book-chapter-3",
    "book-chapter-3-c45",
    "book-chapter-3-wrapper",
    "book-chapter-3-wrapper-c45",
    "heterogeneous",
    "heterogeneous-learners",
    "intrusion",
    "intrusion-five",
    "microarray",
    "microarray-bootstrap",
    "microarray-dobscv",
    "microarray-holdout",
    "multiclass",
    "multiclass-few-rows",
    "multiclass-ova",
    "multiclass-real",
    "multiclass-time",
    "prior",
    "prior-all-rows",
    "prior-norms",
    "prior-partition",
    "tear-film",
)
LEFT_OUT = ("names", "kinds", "roles")  # of the datasets: long, and made anew from the seed


def document(study: Study, results: Results, extras: dict[str, Any]) -> dict[str, Any]:
    """Return the document to be committed; `extras` are parts of one study, such as curves."""
    about = dict(results.about)
    about["datasets"] = {
        name: {part: value for part, value in data.items() if part not in LEFT_OUT}
        for name, data in results.about["datasets"].items()
    }
    summaries = {}
    for metric in study.metrics:
        rows = results.families(metric)
        if metric not in ("bcr", "accuracy", "error"):  # of the selection, for all learners
            first = next(iter(study.learners))
            rows = rows.filter(rows["learner"] == first).drop("learner")
        summaries[metric] = rows.to_dicts()
    verdicts = results.verdicts()
    return {
        "about": about,
        "biased": results.biased,
        "fits": results.rankings.height,
        "failures": sorted(set(results.failures["failure"].to_list())),
        "summary": summaries,
        "counts": verdicts.counts(),
        "verdicts": verdicts.table().to_dicts(),
        **extras,
    }


def main() -> None:
    """Run the studies named on the command line."""
    if sys.argv[1:2] == ["calibration"]:  # no table of a paper: it has options of its own
        import_module("studies.calibration.__main__").main(sys.argv[2:])
        return
    parser = argparse.ArgumentParser(prog="python -m studies", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=", ".join(NAMES))
    parser.add_argument("--jobs", type=int, help="processes; all cores by default")
    arguments = parser.parse_args()
    for name in arguments.names or NAMES:
        if name not in NAMES:
            parser.error(f"no study {name}; there are {', '.join(NAMES)}")
        module = import_module(f"studies.{name.replace('-', '_')}")
        study = module.study()
        results = study.run(FOLDER / "runs" / name, n_jobs=arguments.jobs, verbose=True)
        print(results.verdicts())
        extras = module.extras(results) if hasattr(module, "extras") else {}
        text = json.dumps(document(study, results, extras), indent=1, default=_plain)
        (FOLDER / "results" / f"{name}.json").write_text(text + "\n")


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else str(value)


if __name__ == "__main__":
    main()
