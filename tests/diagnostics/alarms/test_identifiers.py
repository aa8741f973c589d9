"""Columns that tell who a row is."""

import numpy as np
import polars as pl
import pytest

from featly.diagnostics.alarms.identifiers import (
    are_dates,
    find_groups,
    find_identifiers,
    numbers_rows,
)
from featly.diagnostics.reading import read_rows
from tests.reference.alarms import log_birthday


@pytest.mark.parametrize(("n", "span"), [(20, 40), (25, 60), (30, 120), (22, 300), (40, 90)])
def test_the_rule_is_the_birthday_problem(n, span):
    rng = np.random.default_rng(n)
    values = rng.choice(np.arange(1, span - 1), n - 2, replace=False)
    values = np.concatenate([[0, span - 1], values]).astype(float)
    assert numbers_rows(values) == (log_birthday(n, span) < np.log(1e-4))


@pytest.mark.parametrize("factor", [1, 3])
def test_numbers_of_rows_are_found_when_some_are_lost(factor):
    rng = np.random.default_rng(factor)
    for n in (100, 1000):
        assert numbers_rows(rng.permutation(factor * n)[:n] + 5000.0)


def test_measurements_are_none():
    rng = np.random.default_rng(0)
    n = 200
    for values in (
        rng.normal(size=n),
        rng.normal(100, 15, n).round(),
        rng.integers(0, 10**7, n).astype(float),
        rng.lognormal(8, 2, n).round(),
        np.arange(n) / 2,
        np.ones(n),
        np.repeat(np.arange(n / 2), 2),
        np.arange(10.0),
        np.append(np.arange(n - 1.0), np.inf),
        np.array([]),
    ):
        assert not numbers_rows(values)


def test_hardly_a_column_of_different_whole_numbers_is_called_one():
    rng = np.random.default_rng(1)
    n_different = n_called = 0
    for _ in range(4000):
        n = int(rng.integers(20, 60))
        values = rng.integers(0, int(n ** rng.uniform(1.5, 3)), n).astype(float)
        n_different += len(np.unique(values)) == n
        n_called += numbers_rows(values)
    assert n_different > 500
    assert n_called == 0


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["2021-01-05", "2020-12-31"], True),
        (["05.01.2021", "31.12.2020"], True),
        (["1/5/2021", "12/31/2020"], True),
        (["20210105", "20201231"], True),
        (["2021-01-05 10:00", "2020-12-31 23:59"], True),
        (["2021-01-05"] * 19 + ["unknown 1"], True),
        (["2021-01-05"] * 9 + ["unknown 1"], False),
        (["stage 1", "stage 2"], False),
        (["1.5", "2.5"], False),
        ([], False),
    ],
)
def test_dates_in_common_spellings(texts, expected):
    assert are_dates(texts) == expected


def test_texts_are_told_apart():
    n = 60
    rng = np.random.default_rng(2)
    frame = pl.DataFrame(
        {
            "name": [f"P{k}" for k in rng.permutation(n)],
            "remark": [f"seen by nurse {k}" for k in range(n)],
            "day": [f"2020-{1 + k % 12:02d}-{1 + k % 28:02d}" for k in range(n)],
            "town": [f"t{k % 15}" for k in range(n)],
            "sex": ["f", "m"] * (n // 2),
            "number": rng.permutation(n),
            "age": rng.integers(20, 90, n),
        }
    )
    parts = find_identifiers(read_rows(frame, None))
    assert parts.texts == ["name"]
    assert parts.free == ["remark"]
    assert parts.dates == ["day"]
    assert parts.many_levels == ["town"]
    assert parts.numbers == ["number"]


@pytest.mark.parametrize("form", ["P{0:03d}_{1}", "{0}{1}", "s{0}.t{1}", "A-B-{0:04d}-0{1}"])
def test_groups_hidden_in_identifiers_are_found(form):
    rng = np.random.default_rng(3)
    patient = np.repeat(np.arange(40), 2)
    cells = rng.normal(size=(40, 20))[patient] + 0.5 * rng.normal(size=(80, 20))
    letters = "ab" if form != "s{0}.t{1}" and "0{1}" not in form else "12"
    texts = [form.format(p, letters[k % 2]) for k, p in enumerate(patient)]
    groups = find_groups(texts, "sample", cells)
    assert groups is not None
    assert groups.n_groups == 40
    first = dict(zip(groups.labels.tolist(), patient.tolist(), strict=True))
    assert [first[label] for label in groups.labels.tolist()] == patient.tolist()


def test_groups_whose_rows_are_not_alike_are_not_proposed():
    rng = np.random.default_rng(4)
    texts = [f"P{k // 2:03d}_{'ab'[k % 2]}" for k in range(80)]
    proposed = sum(
        find_groups(texts, "sample", rng.normal(size=(80, 20)), seed) is not None
        for seed in range(20)
    )
    assert proposed <= 2


def test_identifiers_without_groups_are_silent():
    cells = np.random.default_rng(5).normal(size=(30, 4))
    assert find_groups([f"P{k}" for k in range(30)], "sample", cells) is None
    assert find_groups([""] * 30, "sample", cells) is None


IDENTIFIERS = [
    "patient",
    "patient_id",
    "PatientID",
    "patientId",
    "patientid",
    "Subject No.",
    "MRN",
    "id",
    "donor",
    "sample.id",
    "ParticipantNumber",
    "USUBJID",
    "case_id",
    "subject-code",
]
OTHERS = [
    "age",
    "patient_age",
    "persons",
    "cases",
    "sample_size",
    "width",
    "valid",
    "paid",
    "G0001",
    "fluid",
    "number",
    "code",
    "patients_per_ward",
    "steroid",
    "caseload",
    "name",
]


def find_repeats(frame):
    return find_identifiers(read_rows(frame, None)).repeated


# ---- identifiers ------------------------------------------------------------------------------
@pytest.mark.parametrize("name", IDENTIFIERS)
def test_repeated_identifiers_are_suspected(name):
    values = [f"p{k // 2}" for k in range(40)]
    assert find_repeats(pl.DataFrame({"age": range(40), name: values})) == [name]
    codes = pl.DataFrame({name: [k // 2 for k in range(40)]})
    assert find_repeats(codes) == [name]
    assert find_repeats(codes.cast(pl.String).cast(pl.Categorical)) == [name]
    assert find_repeats(codes.cast(pl.Float64)) == [
        name
    ]  # as read from text files with missing values


@pytest.mark.parametrize("name", OTHERS)
def test_other_names_are_not_suspected(name):
    assert find_repeats(pl.DataFrame({name: [k // 2 for k in range(40)]})) == []


@pytest.mark.parametrize(
    "values",
    [
        list(range(40)),  # one row a patient
        [1] * 40,
        ["yes", "no"] * 20,
        [k % 3 for k in range(100)],  # 33 rows a value: a site
        [k / 2 for k in range(20)] * 2,  # measurements
        [None] * 10,
    ],
)
def test_other_values_are_not_suspected(values):
    assert find_repeats(pl.DataFrame({"patient": values})) == []


def test_patients_go_before_samples():
    frame = pl.DataFrame(
        {"sample": [k // 2 for k in range(40)], "patient": [k // 4 for k in range(40)]}
    )
    assert find_repeats(frame) == ["patient", "sample"]


def test_numbers_that_are_declared_labels_name_rows_as_numbers_do():
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"age": rng.integers(30, 80, 60), "number": rng.permutation(60)})
    rows = read_rows(frame, {"categorical": ["age", "number"]})
    parts = find_identifiers(rows)
    assert (parts.numbers, parts.texts, parts.many_levels) == (["number"], [], [])
