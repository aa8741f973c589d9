"""A finished report, and the forms in which it can be saved."""

import re
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from featly.basics.atomic_file import check_writable, whole_file
from featly.basics.errors import ParameterError
from featly.basics.json_text import as_json
from featly.io.write import write_frame
from featly.registry import METHODS, find_method
from featly.table.schema import Schema

if TYPE_CHECKING:
    import polars as pl

    from featly.reports.context import Evidence
    from featly.reports.figures import Figure

__all__ = ["FORMATS", "Report", "check_extra", "format_of"]

FORMATS = ("html", "md", "pdf", "json")


class Report:
    """Result of :func:`featly.report`: all facts, and the page made from them.

    Attributes
    ----------
    facts : dict
        Everything on the page, as plain numbers and texts.
    results : featly.study.Results
        Results of the study behind it.
    signature : list of str
        The recommended columns, best first.

    See Also
    --------
    featly.report : The function that makes it.
    """

    def __init__(self, facts: dict[str, Any], evidence: "Evidence") -> None:
        self.facts = facts
        self._evidence = evidence
        self.facts.setdefault("python", _python_call(evidence))

    @property
    def signature(self) -> list[str]:
        """The recommended columns, best first."""
        return list(self.facts["signature"])

    @property
    def results(self) -> Any:
        """Results of the study behind the report."""
        return self._evidence.results

    def __repr__(self) -> str:
        return f"Report({self.facts['title']!r}: {self.facts['summary']})"

    def _repr_html_(self) -> str:
        """Return the page in a frame of its own, for notebooks."""
        from html import escape

        return (
            f'<iframe srcdoc="{escape(self.html(), quote=True)}" '
            'style="width:100%;height:80vh;border:0" title="featly report"></iframe>'
        )

    @cached_property
    def figures(self) -> list["Figure"]:
        """Figures as SVG, with their titles and how to read them."""
        from featly.reports.figures import figures

        check_extra()
        return figures(self._evidence, self.facts)

    def ranking(self) -> "pl.DataFrame":
        """Return all ranked columns: rank, column, kind, score, chosen, selected.

        Returns
        -------
        polars.DataFrame
        """
        from featly.reports.html import whole_ranking

        return whole_ranking(self._evidence, self.facts)

    def html(self) -> str:
        """Return the page as one file that needs no network and no other file."""
        from featly.reports.html import page

        check_extra()
        return page(self._evidence, self.facts, self.figures)

    def markdown(self, folder: str = "") -> str:
        """Return the page as Markdown.

        Parameters
        ----------
        folder : str, default=""
            Folder of the figures that the text shows; empty shows none.
        """
        from featly.reports.markdown import markdown

        return markdown(self.facts, self.figures if folder else [], folder)

    def save(self, path: str | Path, *, format: str | None = None) -> None:
        """Write the report, whole or not at all.

        Parameters
        ----------
        path : path
            "-" is standard output.
        format : {"html", "md", "pdf", "json"} or None, default=None
            None takes it from the ending of the name. A PDF needs Chromium or Chrome on this
            machine. Markdown comes with a folder of figures beside it.
        """
        kind = format_of(path, format)
        check_writable(path)
        if kind == "pdf":
            from featly.reports.pdf import pdf

            content = pdf(self.html())
        elif kind == "json":
            content = as_json(self.facts).encode()
        elif kind == "md":
            content = self._markdown_with_figures(Path(path)).encode()
        else:
            content = self.html().encode()
        with whole_file(path) as out:
            out.write(content)

    def _markdown_with_figures(self, path: Path) -> str:
        if str(path) == "-":
            return self.markdown()
        folder = path.with_name(f"{path.stem}_figures")
        self.save_figures(folder)
        return self.markdown(folder.name)

    def save_figures(self, folder: str | Path) -> list[Path]:
        """Write the figures as SVG into a folder, which is made if it does not exist.

        Parameters
        ----------
        folder : path

        Returns
        -------
        list of Path
        """
        target = Path(folder)
        if target.exists() and not target.is_dir():
            raise ParameterError(f"{str(folder)!r} is a file: name a folder for the figures")
        figures = self.figures
        target.mkdir(parents=True, exist_ok=True)
        written = []
        for figure in figures:
            path = target / f"{figure.name}.svg"
            with whole_file(path) as out:
                out.write(figure.svg)
            written.append(path)
        return written

    def save_ranking(self, path: str | Path) -> None:
        """Write the whole ranking: .csv, .tsv, .parquet or .json.

        Parameters
        ----------
        path : path
        """
        write_frame(self.ranking(), path, inert=True)


def format_of(path: str | Path, format: str | None) -> str:
    """Return the requested format, or that of the ending of the name."""
    if format is not None:
        if format not in FORMATS:
            raise ParameterError(f"format {format!r}: there are {', '.join(FORMATS)}")
        return format
    if str(path) == "-":
        return "html"
    ending = Path(path).suffix.lower().lstrip(".")
    ending = {"htm": "html", "markdown": "md"}.get(ending, ending)
    if ending not in FORMATS:
        raise ParameterError(
            f"{str(path)!r}: the ending says how to write the report; give it one of "
            f"{', '.join(f'.{name}' for name in FORMATS)}, or say which format"
        )
    return ending


def check_extra() -> None:
    """Raise ParameterError with the extra to install if matplotlib or jinja2 is missing."""
    from importlib.util import find_spec

    for library in ("matplotlib", "jinja2"):
        if find_spec(library) is None:
            raise ParameterError(f"a report needs {library}: pip install 'featly[report]'")


def _python_call(evidence: "Evidence") -> str:
    """Return the Python call that makes the same report."""
    study = evidence.study
    methods, used = _methods_as_code(study.methods)
    splits = _splits_as_code(study.splits)
    lines = ["import featly"]
    if used:
        lines.append(f"from featly import {', '.join(used)}")
    if splits[1]:
        lines.append(f"from featly.study import {splits[1]}")
    lines += [
        "",
        "report = featly.report(",
        "    X, y,  # the table and its classes",
        f"    methods={methods},",
        f"    splits={splits[0]},",
        f"    sizes={study.sizes!r},",
        f"    learner={evidence.learner!r},",
        f"    metric={evidence.metric!r},",
        f"    rule={evidence.rule!r},",
        f"    fill={study.fill!r},",
    ]
    optional_lines = {
        "schema=schema,  # what is known about the columns": evidence.schema != Schema(),
        "row_groups=groups,  # which rows belong together": evidence.data.row_groups is not None,
        "official=part,  # which rows are for training": evidence.data.official is not None,
        "resample=sampler,  # that balances the training rows": study.resample is not None,
        f"null={evidence.null},": evidence.null is not None,
        "thorough=True,": evidence.inference.thorough,
        "individuals=False,": not evidence.individuals,
    }
    lines += [f"    {line}" for line, is_used in optional_lines.items() if is_used]
    lines += [f"    random_state={evidence.seed},", ")", 'report.save("report.html")']
    return "\n".join(lines)


def _methods_as_code(methods: dict[str, Any]) -> tuple[str, list[str]]:
    """Return methods as code, by names alone if possible, and the classes to import."""
    class_names = {name: m.class_name for name, m in METHODS.items()}
    offered = [name for name in methods if name not in METHODS and find_method(name) == name]
    class_names |= {name: METHODS[name].class_name for name in offered}
    used_methods = {name: method for name, method in methods.items() if method is not None}
    are_defaults = all(
        type(method).__name__ == class_names.get(name) and repr(method) == f"{class_names[name]}()"
        for name, method in used_methods.items()
    )
    if are_defaults:
        return repr(list(used_methods)), []
    # repr has the parameters that are not the default
    typed = {name: " ".join(repr(method).split()) for name, method in used_methods.items()}
    called_names = {word for text in typed.values() for word in re.findall(r"\w+(?=\()", text)}
    entries = ", ".join(f"{name!r}: {text}" for name, text in typed.items())
    return f"{{{entries}}}", sorted(called_names & {*class_names.values(), "Schema"})


def _splits_as_code(splits: Any) -> tuple[str, str]:
    """Return a splitter as code, and its class where featly.study has that."""
    kind, text = type(splits).__name__, repr(splits)
    known = ("Subsampling", "KFold", "DistributionBalancedKFold", "LeaveOneOut", "Holdout",
             "Bootstrap")  # fmt: skip
    if kind not in known:
        return text, ""
    hidden = {
        name: getattr(splits, name, default)
        for name, default in (("column", None), ("random_state", 0))
    }
    hidden_parameters = [f"{k}={v!r}" for k, v in hidden.items() if v and f"{k}=" not in text]
    inside = text.partition("(")[2].removesuffix(")")
    return f"{kind}({', '.join([*([inside] if inside else []), *hidden_parameters])})", kind
