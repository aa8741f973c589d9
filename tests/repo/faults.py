"""Deliberate faults: small errors put into the code one by one, which the tests should catch.

``python -m tests.repo.faults draw`` writes faults to ``faults.json`` beside this file; ``run`` puts
each into a copy of the work tree and runs the tests there, first those near it, then all. The
checkout is never touched. Results, of one state of the code, are written after every fault, so that
a run that was stopped goes on. Constants outside functions are left alone: sizes and limits.
"""

import argparse
import ast
import io
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tokenize
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
FAULTS = Path(__file__).with_name("faults.json")
WORK = Path(tempfile.gettempdir()) / "featly-faults"  # the copy, and the cache of kernels
KINDS = ("operator", "comparison", "constant", "off by one")
OPERATORS = {"+": "-", "-": "+", "*": "/", "/": "*", "and": "or", "or": "and"}
OPERATORS |= {f"{old}=": f"{new}=" for old, new in OPERATORS.items() if len(old) == 1}
COMPARISONS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
NOT_WALKED = ("annotation", "returns", "decorator_list", "type_params")  # fields of nodes
FIELDS = ("number", "path", "kind", "line", "column", "before", "after", "text")
Fault = dict[str, Any]  # of FIELDS; lines count from 1, columns from 0; text is the whole line
Site = tuple[Any, ...]  # kind, line, column, before, after; of drawn ones the text, too


# ---- drawing -------------------------------------------------------------------------------------
def draw_faults(root: Path, count: int, seed: int = 0) -> list[Fault]:
    """Draw faults, as many of each kind; a file's chance is in proportion to its lines of code."""
    rng = random.Random(seed)
    sizes, sites, drawn = {}, [], list[Any]()
    for file in sorted((root / "src" / "featly").rglob("*.py")):
        path = file.relative_to(root).as_posix()
        if file.name != "__init__.py" and "cuda" not in path:
            tree = ast.parse(text := file.read_text("utf-8"))
            lines = text.split("\n")
            sites += [(path, *site, lines[site[1] - 1]) for site in find_sites(text, tree)]
            sizes[path] = len({n.lineno for n in ast.walk(tree) if isinstance(n, ast.stmt)})
    for kind in KINDS:
        likely = [site for site in sites if site[1] == kind]
        crowd = Counter(site[0] for site in likely)
        weights = [sizes[site[0]] / crowd[site[0]] for site in likely]
        while sum(site[1] == kind for site in drawn) < min(count // len(KINDS), len(likely)):
            drawn += [site for site in rng.choices(likely, weights) if site not in drawn]
    return [dict(zip(FIELDS, (k, *site), strict=True)) for k, site in enumerate(drawn, 1)]


def find_sites(text: str, tree: ast.Module) -> Iterator[Site]:
    """Yield every fault that may be put into a file."""
    lines = text.split("\n")
    tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    indices: set[ast.AST] = set()  # they are for the kind "off by one"

    def position(line: int, byte: int) -> tuple[int, int]:
        """Return line and column of a place; ast counts bytes."""
        return line, len(lines[line - 1].encode()[:byte].decode())

    def locate(node: ast.expr) -> Site:
        return *position(node.lineno, node.col_offset), ast.get_source_segment(text, node)

    def between(kind: str, table: dict[str, str], parts: list[Any]) -> Iterator[Site]:
        """Yield changes of the operators between expressions."""
        for left, right in pairwise(parts):
            low = position(left.end_lineno, left.end_col_offset)
            high = position(right.lineno, right.col_offset)
            for token in tokens:
                if low <= token.start < high and token.string in table:
                    yield kind, *token.start, token.string, table[token.string]

    for node, in_function in walk_code(tree):
        match node:
            case ast.BinOp(left=left, right=right) | ast.AugAssign(target=left, value=right):
                parts = [] if is_text(left) or is_text(right) else [left, right]
                yield from between("operator", OPERATORS, parts)
            case ast.BoolOp(values=values):
                yield from between("operator", OPERATORS, values)
            case ast.Compare(left=left, comparators=others):
                yield from between("comparison", COMPARISONS, [left, *others])
            case ast.Constant(value=bool(value)) if in_function:
                yield "constant", *locate(node), repr(not value)
            case ast.Constant(value=int(value) | float(value)) if in_function:
                if node not in indices:
                    yield "constant", *locate(node), repr(value + 1)
        for index in indices_of(node):
            indices |= set(ast.walk(index))
            *place, before = locate(index)
            whole = f"({before})" if isinstance(index, ast.BinOp | ast.IfExp) else before
            for step in ("+ 1", "- 1"):
                yield "off by one", *place, before, f"{whole} {step}"


def walk_code(node: ast.AST, in_function: bool = False) -> Iterator[tuple[ast.AST, bool]]:
    """Yield the nodes that compute something, and whether they lie in a function."""
    match node:
        case ast.If(test=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]):
            if name in ("TYPE_CHECKING", "__all__"):
                return
        case ast.Raise() | ast.JoinedStr() | ast.keyword(arg="strict" | "stacklevel"):
            return  # what these two arguments do, no test can see
    yield node, in_function
    for field, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and field not in NOT_WALKED:
                yield from walk_code(child, in_function or isinstance(node, ast.FunctionDef))


def is_text(node: ast.AST) -> bool:
    """Return whether an expression is, as far as one sees, a text, a list or a tuple."""
    is_string = isinstance(getattr(node, "value", None), str | bytes)
    return is_string or isinstance(node, ast.JoinedStr | ast.List | ast.Tuple)


def indices_of(node: ast.AST) -> Iterator[ast.expr]:
    """Yield numbers that index, bound a slice or a range; not what may be the key of a dict."""
    match node:
        case ast.Call(func=ast.Name(id="range"), args=bounds):
            yield from bounds
        case ast.Subscript(value=ast.Name(id=name)) if name in ("dict", "list", "tuple", "set"):
            return  # a type, such as dict[str, int]
        case ast.Subscript(slice=index):
            for part in index.elts if isinstance(index, ast.Tuple) else [index]:
                match part:
                    case ast.Slice(lower=low, upper=high):
                        yield from filter(None, (low, high))
                    case ast.Constant(value=int()):
                        yield part
                    case ast.Name(id=name) if part is not index or len(name) == 1:
                        yield part
                    case ast.BinOp() if not any(map(is_text, ast.walk(part))):
                        yield part


# ---- running -------------------------------------------------------------------------------------
def apply_fault(root: Path, fault: Fault) -> None:
    """Put a fault into its line, wherever that is by now: the nearest one with the same text."""
    file, before = root / fault["path"], fault["before"]
    text = file.read_text("utf-8")
    lines = text.split("\n")
    same = [k for k, line in enumerate(lines) if line == fault["text"]]
    at = min(same, key=lambda k: abs(k + 1 - fault["line"]), default=0)
    low = sum(len(line) + 1 for line in lines[:at]) + fault["column"]
    if not same or not text.startswith(before, low):
        raise SystemExit(f"fault {fault['number']}: {fault['path']} has changed: draw it again")
    file.write_text(text[:low] + fault["after"] + text[low + len(before) :], "utf-8")


def copy_tree(tree: Path) -> None:
    """Copy the files of the work tree that git does not ignore, with their times of change."""
    shutil.rmtree(tree, ignore_errors=True)
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True).stdout
    for name in names.split("\0"):
        if (ROOT / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, tree / name)


def nearby_tests(tree: Path, path: str) -> list[str]:
    """Return the faulted module, for its examples, and test files of its name or that import it."""
    package, stem = ".".join(Path(path).parent.parts[1:]), Path(path).stem
    named = re.compile(rf"test_{stem.strip('_')}(_\w+)?\.py")
    imports = re.compile(rf"{package}\.{stem}\b|from {package} import [^\n]*\b{stem}\b")
    files = sorted((tree / "tests").rglob("test_*.py"), key=lambda file: not named.match(file.name))
    near = [f for f in files if named.fullmatch(f.name) or imports.search(f.read_text("utf-8"))]
    return [path, *(file.relative_to(tree).as_posix() for file in near)]


def run_pytest(tree: Path, arguments: list[str], timeout: float) -> str | None:
    """Run pytest in a copy; return the first failing test or what ended it, None if all pass."""
    paths = filter(None, [str(tree / "src"), os.environ.get("PYTHONPATH")])
    settings = {"PYTHONPATH": os.pathsep.join(paths), "FEATLY_CACHE_DIR": str(WORK / "kernels")}
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *arguments]
    process = subprocess.Popen(
        command, cwd=tree, env=os.environ | settings, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True,
    )  # fmt: skip
    try:
        output, _ = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)  # with its workers, and what tests have started
        process.wait()
        return f"no end within {timeout:g} s"
    first = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", output, re.MULTILINE)
    reason = first[1] if first else f"pytest ended with code {process.returncode}"
    return None if process.returncode in (0, 5) else reason  # 5: no test was chosen


def run_faults(faults: list[Fault], options: argparse.Namespace) -> None:
    """Run the tests with no fault, then with each that has no result yet; print a table."""
    out, timeout = options.out, options.timeout
    commands = [line.split() for line in options.pytest_args or ["-n 2 --dist worksteal"]]
    results: dict[str, Any] = json.loads(out.read_text("utf-8")) if out.exists() else {}
    tree = WORK / "tree"  # always the same place: numba knows kernels by path and time
    for fault in [{"number": 0}, *faults]:
        number, lines = str(fault["number"]), commands
        if results.get(number, {}).get("fault") == fault and not (options.numbers and int(number)):
            continue
        copy_tree(tree)
        if int(number):
            apply_fault(tree, fault)
            lines = [nearby_tests(tree, fault["path"]), *commands]
        began = time.perf_counter()
        test = next(filter(None, (run_pytest(tree, line, timeout) for line in lines)), None)
        if test and not int(number):
            raise SystemExit(f"without any fault {test} fails: mend that first")
        seconds, outcome = round(time.perf_counter() - began, 1), "caught" if test else "survived"
        results[number] = {"fault": fault, "outcome": outcome, "test": test, "seconds": seconds}
        draft = out.with_name(f".{out.name}")
        draft.write_text(json.dumps(results, indent=1) + "\n", "utf-8")
        os.replace(draft, out)
    print("| where | change | outcome | first failing test | seconds |\n|---|---|---|---|---|")
    for result in (results[str(fault["number"])] for fault in faults):
        fault, test = result["fault"], result["test"] or ""
        change = f"`{fault['before']}` -> `{fault['after']}`".replace("\n", " ")
        where = f"{fault['number']}: {fault['path']}:{fault['line']} | {change}"
        print(f"| {where} | {result['outcome']} | {test} | {result['seconds']:g} |")


def main() -> None:
    """Draw faults, or run the tests with them."""
    parser = argparse.ArgumentParser(prog="python -m tests.repo.faults")
    add = parser.add_argument
    add("command", choices=("draw", "run"), help="write faults.json, or run the tests with each")
    add("--count", type=int, default=40, help="of faults to draw")
    add("--numbers", default="", help="run some faults, as in 1,2, even if they have results")
    add("--out", type=Path, default=Path("faults-results.json"))
    add("--timeout", type=float, default=1800, help="seconds of one pytest")
    add("--pytest-args", action="append", help="of all tests; more than once: in turn")
    options = parser.parse_args()
    if options.command == "draw":
        FAULTS.write_text(json.dumps(draw_faults(ROOT, options.count), indent=1) + "\n", "utf-8")
        return
    faults, numbers = json.loads(FAULTS.read_text("utf-8")), options.numbers.split(",")
    run_faults([f for f in faults if numbers == [""] or str(f["number"]) in numbers], options)


if __name__ == "__main__":
    main()
