"""``python -m benchmarks.scale --output FILE``; ``python -m benchmarks.scale plot FILE ...``.

The first measures, and goes on with what is in the file already; the second draws.
"""

import argparse
import sys
from pathlib import Path

from benchmarks.scale.families import all_methods
from benchmarks.scale.measure import work
from benchmarks.scale.run import run
from benchmarks.scale.tables import LAYOUTS


def main() -> None:
    if sys.argv[1:2] == ["work"]:
        work()
    elif sys.argv[1:2] == ["plot"]:
        plot(sys.argv[2:])
    else:
        measure(sys.argv[1:])


def measure(words: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__)
    add = parser.add_argument
    add("--output", type=Path, required=True, help="JSON; a run goes on with what is in it")
    add("--device", choices=("cpu", "cuda"), default="cpu")
    add("--methods", nargs="+", metavar="NAME", help="some of them; all by default")
    add("--budget", type=float, default=20.0, help="seconds a method, half of them for each axis")
    add("--limit", type=float, default=float("inf"), help="seconds after which no job is begun")
    add("--layout", choices=LAYOUTS, default="columns", help="how tables lie in memory")
    add("--seed", type=int, default=0)
    add("--quick", action="store_true", help="three small points each: to see that it runs")
    add("--fresh", action="store_true", help="forget what is in the file")
    arguments = parser.parse_args(words)
    unknown = sorted(set(arguments.methods or ()) - set(all_methods()))
    if unknown:
        parser.error(f"no method {', '.join(unknown)}; there are {', '.join(all_methods())}")
    run(**vars(arguments))


def plot(words: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale plot")
    parser.add_argument("results", nargs="+", type=Path, help="of one device each")
    parser.add_argument("--folder", type=Path, default=Path("."))
    parser.add_argument("--format", choices=("svg", "png"), default="svg")
    arguments = parser.parse_args(words)
    from benchmarks.scale.plots import draw, load_runs

    for file in draw(load_runs(arguments.results), arguments.folder, arguments.format).values():
        print(file)


if __name__ == "__main__":
    main()
