"""The trees of Weka's J48, node for node, and its ten folds, row for row."""

import re

import numpy as np
import polars as pl
import pytest

from featly.learners.c45 import C45

SETS = ["heart_cleveland", "hepatitis", "monk1", "monk2", "monk3", "leukemia_golub"]
LINE = re.compile(r"((?:\|   )*)(.*?)(?:: (\S+) \(([\d.]+)(?:/([\d.]+))?\))?")


def read_golden(data_folder, name):
    """Return the table, its classes and the text that J48 printed."""
    file = data_folder.parent / "golden" / f"{name}.cfs_j48.txt"
    if not file.exists():
        pytest.skip("no golden outputs of Weka")
    frame = pl.read_parquet(data_folder / f"{name}.parquet").drop("split", strict=False)
    return frame.drop("class"), frame["class"].cast(pl.String).to_numpy(), file.read_text()


def parse_lines(lines):
    """Parse depth, test, threshold, class, weight and errors of every line."""
    result = []
    for line in lines:
        indent, test, label, rows, errors = LINE.fullmatch(line).groups()
        number = re.search(r"(?:<=|>) (\S+)$", test)
        if number:
            test = test.removesuffix(number[1])
        threshold = float(number[1]) if number else 0.0
        result.append((len(indent), test, threshold, label, float(rows or 0), float(errors or 0)))
    return result


@pytest.mark.parametrize("name", SETS)
def test_tree(data_folder, name):
    X, y, text = read_golden(data_folder, name)
    tree = C45().fit(X, y)
    body = text.split("------------------\n")[1].split("Number of Leaves")[0]
    expected = parse_lines(line for line in body.splitlines() if line)
    actual = parse_lines(tree.export_text().splitlines())
    assert [line[:2] + line[3:4] for line in actual] == [line[:2] + line[3:4] for line in expected]
    for ours, theirs in zip(actual, expected, strict=True):
        assert ours[2] == pytest.approx(theirs[2], rel=1e-6)
        assert ours[4:] == pytest.approx(theirs[4:], abs=0.0100001)  # as each rounds a half
    right, size, leaves = re.search(
        r"resubstitution correct=(\d+) .* tree_size=(\S+) leaves=(\S+)", text
    ).groups()
    assert (tree.predict(X) == y).sum() == int(right)
    assert (tree.size_, tree.n_leaves_) == (float(size), float(leaves))


class JavaRandom:
    """java.util.Random: a linear congruential generator of 48 bits."""

    def __init__(self, seed):
        self.state = (seed ^ 0x5DEECE66D) & (2**48 - 1)

    def bits(self):
        self.state = (self.state * 0x5DEECE66D + 0xB) & (2**48 - 1)
        return self.state >> 17

    def below(self, bound):
        bits = self.bits()
        if bound & (bound - 1) == 0:
            return (bound * bits) >> 31
        while bits - bits % bound + bound - 1 >= 2**31:
            bits = self.bits()
        return bits % bound


def weka_folds(y, n_folds, seed):
    """Return the test rows of Weka's stratified folds."""
    n, random = len(y), JavaRandom(seed)
    rows = list(range(n))
    for j in range(n - 1, 0, -1):
        k = random.below(j + 1)
        rows[j], rows[k] = rows[k], rows[j]
    index = 1
    while index < n:
        label = y[rows[index - 1]]
        for j in range(index, n):
            if y[rows[j]] == label:
                rows[index], rows[j] = rows[j], rows[index]
                index += 1
        index += 1
    dealt = [rows[j] for start in range(n_folds) for j in range(start, n, n_folds)]
    ends = np.cumsum([n // n_folds + (fold < n % n_folds) for fold in range(n_folds)])
    return np.split(np.array(dealt), ends[:-1])


def test_java_random():
    random = JavaRandom(1)
    assert [random.below(10) for _ in range(5)] == [5, 8, 7, 3, 4]
    random = JavaRandom(42)
    assert [random.below(16) for _ in range(3)] == [11, 0, 10]


@pytest.mark.parametrize("name", SETS)
def test_ten_folds(data_folder, name):
    X, y, text = read_golden(data_folder, name)
    right = 0
    for test in weka_folds(y.tolist(), 10, 1):
        train = np.setdiff1d(np.arange(len(y)), test)
        tree = C45().fit(X[train.tolist()], y[train])
        right += (tree.predict(X[test.tolist()]) == y[test]).sum()
    assert right == int(re.search(r"cv10 seed1 correct=(\d+)", text)[1])
