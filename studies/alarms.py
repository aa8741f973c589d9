"""Alarms of `featly.check_table` on clean tables, and lies that it finds: how often it is wrong.

``python -m studies.alarms [--tables N] [--seed S]`` draws clean tables of eight laws (40 to 1,200
rows, 5 to 600 columns, two to five classes, half of them with a signal, half with missing values at
random) and tables with one planted lie each, and writes the counts to ``results/alarms.json``.

Then noise with each lie goes through every command, and into Python: is the lie named, is a column
that numbers the rows left out, and does the report say "Yes"?
"""

import argparse
import contextlib
import io
import json
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from featly import LeakWarning, __version__, check_table
from featly.basics.atomic_file import whole_file
from featly.study import Dataset

RESULTS = Path(__file__).with_name("results") / "alarms.json"
LAWS = ("normal", "factors", "blocks", "coarse", "levels", "subtypes", "lognormal", "mixed")
SIGNAL = 0.8  # standard deviations, of five columns


def draw_clean(law: str, rng: np.random.Generator) -> tuple[Any, np.ndarray]:
    """Draw a table without any lie, and its classes."""
    n = int(np.exp(rng.uniform(np.log(40), np.log(1200))))
    p = int(np.exp(rng.uniform(np.log(5), np.log(600))))
    y = rng.integers(0, rng.choice([2, 2, 2, 3, 5]), n)
    if rng.random() < 0.5:
        y = (rng.random(n) < 0.2).astype(int)
    if law == "mixed":
        return draw_mixed(n, p, rng), y
    X = rng.normal(size=(n, p))
    if law == "factors":
        X += rng.normal(size=(n, 3)) @ rng.normal(size=(3, p))
    elif law == "blocks":
        X = 0.6 * X + 0.8 * np.repeat(rng.normal(size=(n, -(-p // 10))), 10, axis=1)[:, :p]
    elif law == "coarse":
        X *= 1.5
    elif law == "levels":
        X = rng.integers(0, 4, (n, p)).astype(float)
    elif law == "subtypes":
        X += rng.normal(size=(4, p))[rng.integers(0, 4, n)]
    elif law == "lognormal":
        X = np.exp(1.2 * X)
    if rng.random() < 0.5:
        first = X[:, :5]
        first += SIGNAL * (y == 0)[:, None] * first.std(axis=0)
    if law in ("coarse", "levels"):
        X = X.round()
    if rng.random() < 0.5:
        X[rng.random(X.shape) < 0.1] = np.nan
    return X, y


def draw_mixed(n: int, p: int, rng: np.random.Generator) -> pl.DataFrame:
    """Draw a frame of levels, decimals and whole numbers."""
    columns = {}
    for j in range(p):
        if j % 3 == 0:
            columns[f"c{j}"] = pl.Series(rng.choice(list("abcdefgh")[: rng.integers(2, 8)], n))
        elif j % 3 == 1:
            columns[f"c{j}"] = pl.Series(np.round(rng.normal(size=n) * 10, 1))
        else:
            columns[f"c{j}"] = pl.Series(rng.integers(0, 100, n).astype(float))
    return pl.DataFrame(columns)


def draw_lie(lie: str, rng: np.random.Generator, n: int = 300, p: int = 60) -> tuple[Any, Any]:
    """Draw a table with one lie, and its classes."""
    X, y = rng.normal(size=(n, p)), (rng.random(n) < 0.4).astype(int)
    if lie.startswith("rows twice"):
        X, y = X[: n // 2], y[: n // 2]
        noise = float(lie.rpartition(" ")[2]) * rng.normal(size=X.shape)
        return np.vstack([X, X + noise]), np.tile(y, 2)
    frame = pl.DataFrame(X)
    if lie == "none":
        return X, y
    if lie == "row numbers":
        return frame.with_columns(entry=pl.Series(rng.permutation(n) + 1)), y
    if lie == "missing 35% and 51%":
        high, low = (0.51, 0.35) if n >= 300 else (0.65, 0.2)
        X[rng.random(n) < np.where(y == 1, high, low), 0] = np.nan
        return X, y
    if lie == "copy of the class":
        return frame.with_columns(state=pl.Series(np.array(["alive", "dead"])[y])), y
    if lie == "separator":
        X[:, 0] += 4 * y
        return X, y
    if lie == "follow-up time":
        days = rng.exponential(np.where(y == 1, 300, 900)).round()
        return frame.with_columns(follow_up_days=pl.Series(days)), y
    agreement = 0.85  # of site and class
    site = np.where(rng.random(n) < agreement, y, 1 - y)
    X[:, : int(0.3 * p)] += site[:, None]
    return pl.DataFrame(X).with_columns(lab=pl.Series(np.array(["n", "s"])[site])), y


# the kind of finding that names each lie
LIES = {
    "rows twice, noise sd 0.0": "twins",
    "rows twice, noise sd 0.2": "twins",
    "rows twice, noise sd 0.5": "twins",
    "row numbers": "identifier",
    "missing 35% and 51%": "missing values",
    "copy of the class": "copy of the class",
    "separator": "separates",
    "follow-up time": "time to the event",
    "site that goes with the class": "batch",
    "none": "",
}


# ---- every route ---------------------------------------------------------------------------------
ROUTES = {
    "rank": ("--method", "univariate-test"),
    "select": ("--method", "univariate-test", "--count", "4"),
    "evaluate": ("--splits", "3", "--sizes", "1,4", "--methods", "univariate-test"),
    "report": ("--splits", "3", "--sizes", "1,4", "--null", "19", "--methods", "univariate-test",
               "--format", "json"),
    "advise": (),
}  # fmt: skip
ROWS, COLUMNS = 120, 24


def run_command(*arguments: str) -> tuple[str, str]:
    """Run the command line in this process; return standard output and standard error."""
    from featly.cli.main import main as run

    out, err = io.StringIO(), io.StringIO()
    before, sys.argv = sys.argv, ["featly", *arguments]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            run()
    except SystemExit as ended:
        if ended.code:
            raise RuntimeError(f"{arguments}: {err.getvalue()}") from None
    finally:
        sys.argv = before
    return out.getvalue(), err.getvalue()


def follow_lie(lie: str, rng: np.random.Generator, folder: Path) -> dict[str, bool]:
    """Send noise with a lie through every route; return what was seen, by name."""
    X, y = draw_lie(lie, rng, ROWS, COLUMNS)
    frame = X if isinstance(X, pl.DataFrame) else pl.DataFrame(X)
    frame = frame.rename({name: name.replace("column_", "m") for name in frame.columns})
    path = str(folder / "table.csv")
    frame.with_columns(y=pl.Series(y)).write_csv(path)
    seen = {}
    for route, options in ROUTES.items():
        page = str(folder / "report.json")
        form = ("-o", page) if route == "report" else ("--json",)
        out, err = run_command(route, path, "-t", "y", *options, *form)
        document = json.loads(Path(page).read_text("utf-8") if route == "report" else out)
        kinds = {finding["kind"] for finding in document["findings"]}
        seen[f"{route}: named"] = LIES[lie] in kinds and ("alarm: " in err or "question: " in err)
        if route == "report":
            answer = document["answers"][0]["answer"]
            seen["report: says that it predicts"] = answer.startswith("Yes")
            seen["report: waits"] = any(f["withholds"] for f in document["findings"])
        if lie == "row numbers" and route != "advise":
            said = ("findings", "methods_paragraph")  # where it is said to be left out
            rest = {key: value for key, value in document.items() if key not in said}
            seen[f"{route}: left out"] = '"entry"' not in json.dumps(rest)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        Dataset.of(frame, y)
    seen["Dataset.of: warned"] = any(w.category is LeakWarning for w in caught)
    return seen


def follow_lies(n_tables: int, rng: np.random.Generator) -> dict[str, dict[str, int]]:
    """Count what was seen of each lie."""
    counts = {}
    with tempfile.TemporaryDirectory() as folder:
        for lie in LIES:
            total: Counter[str] = Counter()
            for _ in range(n_tables):
                total.update(follow_lie(lie, rng, Path(folder)))
            counts[lie] = dict(total)
    return counts


def main() -> None:
    """Count, and write what was counted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=480, help="clean tables")
    parser.add_argument("--lies", type=int, default=40, help="tables of each lie")
    parser.add_argument("--routes", type=int, default=3, help="tables of each lie, every command")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    began = time.time()
    rng = np.random.default_rng(arguments.seed)
    clean: Counter[str] = Counter()
    for k in range(arguments.tables):
        X, y = draw_clean(LAWS[k % len(LAWS)], rng)
        findings = check_table(X, y)
        kinds = {f"{finding.level}: {finding.kind}" for finding in findings}
        clean.update(kinds | {f"any {finding.level}" for finding in findings})
    seen_lies = {
        lie: sum(
            kind in {finding.kind for finding in check_table(*draw_lie(lie, rng))}
            for _ in range(arguments.lies)
        )
        for lie, kind in LIES.items()
        if kind
    }
    routes = follow_lies(arguments.routes, np.random.default_rng([arguments.seed, 1]))
    results = {
        "featly": __version__, "seed": arguments.seed, "clean_tables": arguments.tables,
        "clean": dict(sorted(clean.items())), "tables_of_each_lie": arguments.lies,
        "lies": seen_lies, "tables_of_each_lie_by_route": arguments.routes, "routes": routes,
        "seconds": round(time.time() - began),
    }  # fmt: skip
    with whole_file(RESULTS) as file:
        file.write(json.dumps(results, indent=1).encode() + b"\n")
    print(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
