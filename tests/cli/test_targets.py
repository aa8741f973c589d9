"""Numbers as the target of commands: what a user reads, and what is refused."""

import json

import numpy as np
import polars as pl
import pytest

from featly.cli.load import Request, load


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("targets")
    rng = np.random.default_rng(0)
    n = 80
    size = rng.normal(100, 30, n).round(1)
    price = (size * 2.5 + rng.normal(0, 20, n)).round(0).astype(int)
    frame = pl.DataFrame({"size": size, "noise": rng.normal(size=n).round(2)})
    district = pl.Series("district", rng.choice(["north", "south", "west"], n))
    paths = {name: str(folder / f"{name}.csv") for name in ("whole", "real", "mixed")}
    frame.with_columns(price=pl.Series(price)).write_csv(paths["whole"])
    frame.with_columns(price=pl.Series(price / 100)).write_csv(paths["real"])
    frame.with_columns(district, price=pl.Series(price)).write_csv(paths["mixed"])
    return paths


@pytest.fixture
def run(featly):
    def run_command(*arguments, code=0):
        actual_code, out, err = featly(*arguments)
        assert actual_code == code, err
        return out, err

    return run_command


def test_rank_numbers(files, run):
    out, err = run("rank", files["real"], "--target", "price")
    assert "method: f-test" in err
    assert out.splitlines()[1].startswith("1\tsize")


def test_many_whole_numbers_are_asked_about(files, run):
    err = run("rank", files["whole"], "--target", "price", code=2)[1]
    assert "different whole numbers" in err
    assert "say which by --target-kind classes or --target-kind numbers" in err
    assert "Schema" not in err
    for command in ("evaluate", "report", "advise"):
        err = run(command, files["whole"], "--target", "price", code=2)[1]
        assert "may be classes or numbers: say which by --target-kind" in err


def test_json_has_the_range_and_no_classes(files, run):
    options = ("--target", "price", "--target-kind", "numbers", "--json")
    for command in ("rank", "describe"):
        document = json.loads(run(command, files["whole"], *options)[0])
        assert document["target_kind"] == "numbers"
        assert len(document["target_range"]) == 2
        assert "classes" not in document


def test_mixed_columns_have_a_default_that_takes_numbers(files, run):
    options = ("--target", "price", "--target-kind", "numbers")
    out, err = run("rank", files["mixed"], *options)
    assert "method: symmetric-uncertainty" in err
    assert out.splitlines()[1].split("\t")[1] == "size"


def test_describe(files, run):
    out, err = run("describe", files["real"], "--target", "price")
    assert "target 'price': numbers from " in out + err
    assert "classes" not in out + err
    out, err = run("describe", files["whole"], "--target", "price")
    assert "which may be classes or numbers: --target-kind says which" in out + err


@pytest.mark.parametrize("command", ["evaluate", "report", "advise", "prior"])
def test_what_predicts_classes_refuses_numbers_in_one_line(files, run, command):
    err = run(command, files["real"], "--target", "price", code=2)[1]
    assert "holds numbers, and 'featly " + command + "' is for classes" in err
    assert "'featly rank', 'featly select' and 'featly describe' take numbers" in err


def test_mistakes(files, run):
    def refuse(*options):
        return run("rank", files["real"], "--target", "price", *options, code=2)[1]

    assert "--target-kind number: give classes or numbers" in refuse("--target-kind", "number")
    assert "survival has two, the time" in refuse("--target-kind", "survival")
    assert "leave out --target-kind classes" in refuse("--target-kind", "classes")
    assert "--method auto is for classes" in refuse("--method", "auto")
    assert "--trade-off weighs costs: give them by --costs" in refuse("--trade-off", "1")
    assert "Invalid value for '--trade-off'" in refuse("--trade-off", "-1")
    err = run("describe", files["mixed"], "--target", "district", "--target-kind", "numbers",
                 code=2)[1]  # fmt: skip
    assert "holds text" in err


def test_a_schema_file_says_the_kind_and_the_trade_off(files, run, tmp_path):
    schema = tmp_path / "schema.toml"
    schema.write_text('target_kind = "numbers"\ntrade_off = 1\n[costs]\nsize = 1e6\n', "utf-8")
    options = ("--target", "price", "--schema", str(schema))
    out, _ = run("rank", files["whole"], *options)
    assert [line.split("\t")[1] for line in out.splitlines()[1:]] == ["noise", "size"]
    costs = tmp_path / "costs.csv"
    costs.write_text("size,1000000\n", "utf-8")
    again, _ = run("rank", files["whole"], "--target", "price", "--target-kind", "numbers",
                      "--costs", str(costs), "--trade-off", "1")  # fmt: skip
    assert again == out
    dropped, _ = run("rank", files["mixed"], *options, "--drop", "size,district")
    assert [line.split("\t")[1] for line in dropped.splitlines()[1:]] == ["noise"]


def test_the_target_in_words(files):
    with load(Request(files["real"], target="price")) as data:
        assert data.describe_target().startswith("numbers from ")
        assert data.classes == {}
