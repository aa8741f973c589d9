"""Values of parameters are checked by rules: nobody asks by hand whether one is a truth value."""

import ast
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "featly"
# they ask it of cells, levels, labels and options of the command line, which are no parameters
OF_VALUES = {
    "cli/advise.py",
    "cli/printing.py",
    "problem/target.py",
    "study/dataset.py",
    "study/fixed_splits.py",
    "table/frames.py",
    "table/schema_report.py",
}


def asks_for_truth_values(node):
    return (
        isinstance(node, ast.Call)
        and getattr(node.func, "id", "") == "isinstance"
        and any(getattr(part, "id", "") == "bool" for part in ast.walk(node.args[1]))
    )


def test_only_rules_ask_whether_a_parameter_is_a_truth_value():
    files = {
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        if any(map(asks_for_truth_values, ast.walk(ast.parse(path.read_text("utf-8")))))
    }
    assert files == OF_VALUES | {"basics/params.py"}


def test_no_estimator_writes_its_constructor():
    rooms = ("filters", "elimination", "embedded", "ensembles", "wrappers", "learners")
    for room in (*rooms, "preprocessing", "kernels"):
        for path in (SOURCE / room).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                text = ast.unparse(node)
                if isinstance(node, ast.FunctionDef) and node.name == "__init__":
                    assert "self.n_jobs = n_jobs" not in text, f"{path.name}: {node.lineno}"
