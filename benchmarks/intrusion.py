"""KDD Cup 99 whole: cut 494,021 rows, filter, learn a tree, score 311,029 rows.

Every tool is a process of its own, so that its peak of memory is its own; the time is that from the
file to the score, imports left out. scikit-learn has no CFS and no C4.5: it takes quantiles, the
four columns with the largest chi-squared and its own tree. Weka runs where WEKA_JAR names its file;
its time is that of its whole process, the reading of ARFF included.
"""

import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.harness import Row

PROBLEM = "discretise, filter, tree on KDD Cup 99: normal or attack, 494,021 and 311,029 rows"
PAIRS = "the same for each of 10 pairs of 5 classes, decoded by the sum"
KEPT = 4  # columns that CFS chooses; scikit-learn takes as many


def table_file() -> Path | None:
    """Return the file of the table, where FEATLY_DATA names its folder; else None."""
    folder = os.environ.get("FEATLY_DATA")
    path = Path(folder) / "kddcup99.parquet" if folder else None
    return path if path is not None and path.exists() else None


# ---- what runs in a process of its own -----------------------------------------------------------
def parts(library: str, five: bool = False) -> tuple[Any, ...]:
    """Return both parts and their classes."""
    import polars as pl

    path = table_file()
    assert path is not None
    frame = pl.read_parquet(path)
    if five:
        from studies.intrusion_data import CLASS_OF

        target = pl.col("class").cast(pl.String).replace_strict(CLASS_OF, return_dtype=pl.Int64)
    else:
        target = (pl.col("class").cast(pl.String) != "normal").cast(pl.Int64)
    frame = frame.with_columns(target.alias("class"))
    tables, classes = [], []
    for part in ("train", "test"):
        rows = frame.filter(pl.col("split") == part)
        classes.append(rows["class"].to_numpy())
        rows = rows.drop("split", "class")
        tables.append(rows.to_pandas() if library == "pandas" else rows)
    return *tables, *classes


def tree(ordered: bool = True) -> Any:
    """MDLP, CFS and C4.5."""
    from sklearn.pipeline import make_pipeline

    from featly import CFS
    from featly.learners.c45 import C45
    from featly.preprocessing import MDLP

    return make_pipeline(MDLP(ordered=ordered), CFS(discretizer=None), C45())


def describe(model: Any, predicted: Any, truth: Any) -> str:
    chosen = model[:-1].get_feature_names_out()
    return f"{len(chosen)} columns, error {100 * (predicted != truth).mean():.2f}%"


def run_featly(library: str) -> str:
    train, test, y, truth = parts(library)
    model = tree(ordered=library == "polars").fit(train, y)
    return describe(model, model.predict(test), truth)


def pairs() -> str:
    from featly.combine.decoding import DecodedClassifier
    from featly.measures.classification import KDD_COSTS, confusion_matrix, cost_score

    train, test, y, truth = parts("polars", five=True)
    model = DecodedClassifier(tree(), code="ovo", decoding="sum").fit(train, y)
    score = cost_score(confusion_matrix(truth, model.predict(test), 5), KDD_COSTS)
    columns = {
        name for estimator in model.estimators_ for name in estimator[:-1].get_feature_names_out()
    }
    return f"{len(columns)} columns, cost {score:.4f}"


def scikit_learn() -> str:
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.feature_selection import SelectKBest, chi2
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import KBinsDiscretizer, OrdinalEncoder
    from sklearn.tree import DecisionTreeClassifier

    train, test, y, truth = parts("pandas")
    bins = KBinsDiscretizer(n_bins=10, encode="ordinal", quantile_method="averaged_inverted_cdf")
    symbols = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=1000)
    cut = make_column_transformer(
        (bins, make_column_selector(dtype_include="number")),
        (symbols, make_column_selector(dtype_exclude="number")),
    )
    best = SelectKBest(chi2, k=KEPT)
    model = make_pipeline(cut, best, DecisionTreeClassifier(min_samples_leaf=2, random_state=0))
    predicted = model.fit(train, y).predict(test)
    return f"{KEPT} columns, error {100 * (predicted != truth).mean():.2f}%"


WORK: dict[str, Callable[[], str]] = {
    "polars": lambda: run_featly("polars"),
    "pandas": lambda: run_featly("pandas"),
    "pairs": pairs,
    "scikit-learn": scikit_learn,
}


def run_case(name: str) -> None:
    """Run one of WORK and print seconds, megabytes and its summary."""
    import pandas, polars, sklearn.compose, sklearn.tree  # noqa: E401, F401, I001

    import featly.learners  # noqa: F401

    began = time.perf_counter()
    summary = WORK[name]()
    seconds = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"seconds": seconds, "megabytes": peak, "summary": summary}))


# ---- the cases -----------------------------------------------------------------------------------
def run_fastest(name: str, repeats: int = 3) -> dict[str, Any]:
    """Run a case in some processes and return the fastest; the first may compile."""
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.intrusion", name]
    runs = []
    for _ in range(repeats):
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        runs.append(json.loads(done.stdout.splitlines()[-1]))
    return min(runs, key=lambda run: run["seconds"])


def whole() -> Iterator[Row]:
    if table_file() is None:
        return
    for name, tool, problem in (
        ("polars", "featly: MDLP, CFS, C45", PROBLEM),
        ("pandas", "featly, the same from pandas", PROBLEM),
        ("scikit-learn", "scikit-learn: quantiles, chi2, its tree", PROBLEM),
    ):
        fastest = run_fastest(name)
        note = f"{fastest['summary']}; peak memory {fastest['megabytes']:.0f} MB"
        yield Row(problem, tool, fastest["seconds"], note, ours=name == "polars")
    yield from weka()
    fastest = run_fastest("pairs", 2)
    note = f"{fastest['summary']}; peak memory {fastest['megabytes']:.0f} MB"
    yield Row(PAIRS, "featly: MDLP, CFS, C45 for each pair", fastest["seconds"], note, ours=True)


def weka() -> Iterator[Row]:
    """J48 behind the same two steps."""
    jar = os.environ.get("WEKA_JAR")
    if not jar:
        return
    with tempfile.TemporaryDirectory() as folder:
        train, test = write_arff(Path(folder))
        steps = [
            "weka.classifiers.meta.FilteredClassifier", "-v", "-t", train, "-T", test,
            "-F", "weka.filters.supervised.attribute.Discretize -R first-last",
            "-W", "weka.classifiers.meta.AttributeSelectedClassifier", "--",
            "-E", "weka.attributeSelection.CfsSubsetEval -L",
            "-S", "weka.attributeSelection.BestFirst",
            "-W", "weka.classifiers.trees.J48", "--", "-C", "0.25",
        ]  # fmt: skip
        command = ["java", "-Xmx8g", "-cp", jar, *steps]
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        began = time.perf_counter()
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        seconds = time.perf_counter() - began
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    error = re.search(r"Incorrectly Classified Instances\s+\d+\s+([\d.]+)", done.stdout)
    selected = re.search(r"Selected attributes: [\d,]+ : (\d+)", done.stdout)
    n_selected = selected.group(1) if selected else "?"
    note = f"{n_selected} columns, error {error.group(1) if error else '?'}%"
    if peak > before:
        note += f"; peak memory {peak / 1024:.0f} MB"
    yield Row(PROBLEM, "Weka 3: Discretize, CfsSubsetEval, J48", seconds, note)


def write_arff(folder: Path) -> tuple[str, str]:
    """Both parts as ARFF, with the levels of both in the header."""
    import polars as pl

    train, test, y, truth = parts("polars")
    head = ["@relation kdd"]
    for name in train.columns:
        if train[name].dtype == pl.Float64:
            head.append(f"@attribute {name} numeric")
        else:
            texts = pl.concat([train[name].cast(pl.String), test[name].cast(pl.String)])
            head.append(f"@attribute {name} {{{','.join(sorted(texts.unique()))}}}")
    head += ["@attribute class {normal,attack}", "@data", ""]
    files = []
    for name, rows, codes in (("train", train, y), ("test", test, truth)):
        side = pl.Series("class", codes).replace_strict({0: "normal", 1: "attack"})
        path = folder / f"{name}.arff"
        with path.open("w", encoding="utf-8") as out:
            out.write("\n".join(head))
            out.write(rows.with_columns(side).write_csv(include_header=False))
        files.append(str(path))
    return files[0], files[1]


CASES = {"intrusion": whole}

if __name__ == "__main__":
    run_case(sys.argv[1])
