"""``python -m benchmarks [case ...] [--json FILE] [--markdown FILE]``: all cases, or some."""

import argparse
import json
import sys
from pathlib import Path

from benchmarks import (
    arom,
    c45,
    clinical,
    combine,
    complexity,
    counting,
    discretise,
    f_test,
    files,
    forest,
    greedy,
    intrusion,
    large,
    mkl,
    multiclass_svm_rfe,
    package,
    pairwise,
    redundancy,
    relief,
    report,
    study,
    subset_filters,
    svm_rfe,
)
from benchmarks.harness import as_json, as_markdown, environment

HEAD = """# Benchmarks

featly and its peers in one run of `make bench`. The ratio is a peer's time over featly's on the
same problem. A peer with a loose tolerance runs twice, as shipped and at `tol=1e-10`; positions
are compared with the latter.

"""

CASES = {
    **svm_rfe.CASES,
    **arom.CASES,
    **pairwise.CASES,
    **combine.CASES,
    **multiclass_svm_rfe.CASES,
    **f_test.CASES,
    **counting.CASES,
    **greedy.CASES,
    **relief.CASES,
    **discretise.CASES,
    **subset_filters.CASES,
    **clinical.CASES,
    **mkl.CASES,
    **forest.CASES,
    **c45.CASES,
    **intrusion.CASES,
    **complexity.CASES,
    **redundancy.CASES,
    **package.CASES,
    **files.CASES,
    **large.CASES,
    **study.CASES,
    **report.CASES,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("cases", nargs="*", metavar="case", help=", ".join(CASES))
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument("--markdown", type=Path, help="also write the table to this file")
    arguments = parser.parse_args()
    unknown = sorted(set(arguments.cases) - set(CASES))
    if unknown:
        parser.error(f"no case {', '.join(unknown)}; there are {', '.join(CASES)}")
    rows = []
    for name in arguments.cases or CASES:
        for row in CASES[name]():
            rows.append(row)
            print(f"{row.problem}: {row.tool}: {row.seconds:.3g} s {row.note}", file=sys.stderr)
    versions = ", ".join(f"{package} {number}" for package, number in environment().items())
    table = f"{as_markdown(rows)}\n\n{versions}\n"
    print(table)
    if arguments.json:
        arguments.json.write_text(json.dumps(as_json(rows), indent=1) + "\n")
    if arguments.markdown:
        arguments.markdown.write_text(f"{HEAD}{table}")


if __name__ == "__main__":
    main()
