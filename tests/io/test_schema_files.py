import pytest

from featly.basics.errors import SchemaError
from featly.io.schema_files import read_schema_file, read_weights


def write(tmp_path, content):
    path = tmp_path / "w.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(
    "content",
    [
        "age,2\nbody weight,1.5\n",
        "name,prior\nage,2\n\nbody weight,1.5",
        "\n\nname;prior\r\nage;2\r\nbody weight;1,5\r\n",
        "\ufeffage\t2\rbody weight\t1,5\r",
        '"age", 2\n"body weight",1.5e0\n'.encode("utf-16"),
    ],
)
def test_weights(tmp_path, content):
    assert read_weights(write(tmp_path, content), "prior") == {"age": 2.0, "body weight": 1.5}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("age,2\nsex\n", "line 2 of '*' has 1 cells, where a column and its prior belong"),
        ("age,2\nsex,1,5\n", "line 2 of '*' has 3 cells, where a column and its prior belong"),
        ("age,2\nsex,x\n", "line 2 of '*' gives 'sex' the prior 'x', which is no number"),
        ("a,b\nage,two\n", "line 2 of '*' gives 'age' the prior 'two', which is no number"),
        ("age,2\n\nage,3\n", "line 3 of '*' names 'age' a second time"),
        ("name,prior\n", "'*' names no column: give lines such as 'age,2'"),
        ("\n\n", "'*' names no column: give lines such as 'age,2'"),
        (b"age,2\n\x81,3\n", "line 2 of '*' is no text"),
    ],
)
def test_wrong_weights(tmp_path, content, message):
    path = write(tmp_path, content)
    with pytest.raises(SchemaError) as caught:
        read_weights(path, "prior")
    assert str(caught.value).replace(str(path), "*") == message


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            "keeps = []",
            "'*' has a part 'keeps', which a schema does not have; did you mean 'keep'?",
        ),
        ('keep = "age"', "keep in '*' must be a list of columns"),
        ("prior = [1]", "prior in '*' must be a table, such as [prior]"),
        ("target = 3", "target in '*' must be a text"),
    ],
)
def test_wrong_schemas(tmp_path, content, message):
    path = write(tmp_path, content)
    with pytest.raises(SchemaError) as caught:
        read_schema_file(path)
    assert str(caught.value).replace(str(path), "*") == message
    with pytest.raises(SchemaError, match=r"^'.*' is no TOML file: .*line 2"):
        read_schema_file(write(tmp_path, 'keep = ["age"]\nx = \ny = 1'))
