"""A command line in this process, and small tables for it."""

import io
import sys

import numpy as np
import polars as pl
import pytest

from featly.cli import main as cli


@pytest.fixture
def featly(monkeypatch, capsysbinary):
    """Run the command line in this process: code, standard output, standard error."""

    def run(*arguments, stdin=b""):
        monkeypatch.setattr(sys, "argv", ["featly", *map(str, arguments)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        with pytest.raises(SystemExit) as exit_info:
            cli.main()
        printed = capsysbinary.readouterr()
        return exit_info.value.code, printed.out.decode(), printed.err.decode()

    return run


@pytest.fixture
def mistake(featly):
    """Run a command that must fail with one line on standard error, and return that line."""

    def run(*arguments, stdin=b""):
        code, out, err = featly(*arguments, "--quiet", stdin=stdin)
        assert code == 2
        assert out == ""
        assert err.startswith("featly: ")
        assert err.count("\n") == 1
        assert "Traceback" not in err
        return err.removeprefix("featly: ").strip()

    return run


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    ill = np.arange(60) % 2
    return pl.DataFrame(
        {
            "age": rng.integers(30, 80, 60),
            "sex": rng.choice(["f", "m"], 60),
            "stage": np.array(["I", "II", "III"])[np.digitize(rng.normal(size=60) + ill, [0, 1])],
            "marker": (rng.normal(size=60) + ill).round(3),
            "noise": rng.normal(size=60).round(3),
            "ill": np.where(ill, "yes", "no"),
        }
    )


@pytest.fixture
def csv(frame, tmp_path):
    path = tmp_path / "study.csv"
    frame.write_csv(path)
    return path


@pytest.fixture
def numbers(frame, tmp_path):
    path = tmp_path / "numbers.csv"
    frame.drop("sex", "stage").write_csv(path)
    return path
