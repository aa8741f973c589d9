"""Uses of a target as classes: only methods that take no other target have any."""

import ast
from pathlib import Path

from featly.registry import METHODS

SOURCE = Path(__file__).parents[2] / "src" / "featly"
# they make problems of two classes, or the methods that use them take classes only
OF_CLASSES = {"combine/class_pairs.py", "problem/problem.py", "wrappers/inner_folds.py"}
# what `Ranker` itself does with them comes after a check that the method combines two-class lists
GUARDED = {"base.py": 1}


def files_of_class_methods():
    """Return the files of methods that take classes alone, and of no other method."""
    by_file = {}
    for method in METHODS.values():
        path = method.path.partition(":")[0].removeprefix("featly.").replace(".", "/") + ".py"
        by_file.setdefault(path, []).append(method.targets == ("classes",))
    return {path for path, are_of_classes in by_file.items() if all(are_of_classes)}


def test_only_methods_for_classes_ask_a_problem_for_its_classes():
    allowed = OF_CLASSES | files_of_class_methods()
    for path in sorted(SOURCE.rglob("*.py")):
        name = path.relative_to(SOURCE).as_posix()
        uses = [
            node.lineno
            for node in ast.walk(ast.parse(path.read_text("utf-8")))
            if isinstance(node, ast.Attribute)
            and node.attr in ("y", "classes")
            and "problem" in ast.unparse(node.value).rpartition(".")[2]
        ]
        if name not in allowed:
            assert len(uses) <= GUARDED.get(name, 0), f"{name} assumes classes in lines {uses}"
