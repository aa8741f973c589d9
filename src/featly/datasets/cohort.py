r"""A made cohort: clinical columns and gene expression, and what each column is worth.

.. math::

    \log \frac{P(y_i = \text{relapse})}{P(y_i = \text{remission})}
    = \beta_0 + \sum_{j \text{ causal}} \beta_j z_{ij}

Of real tables it is unknown which columns matter. Here it is known, so a ranking can be compared
with the truth: Bolón-Canedo, V., Sánchez-Maroño, N. and Alonso-Betanzos, A. (2013), A review of
feature selection methods on synthetic data, *Knowledge and Information Systems* 34, 483-519.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from featly.basics.params import Number, Rule, Whole
from featly.table.schema import Schema

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Cohort", "make_cohort"]

STAGES = ["I", "II", "III", "IV"]
GRADES = ["G1", "G2", "G3"]
TREATMENTS = ["standard", "intensive"]
WARDS = np.array([11, 12, 14, 21, 23])  # codes, not quantities
CARELESS_WARD = 21  # its laboratory values are often missing
MORE_OFTEN = 5  # how much likelier a value is missing in that ward, or on a gene's bad plate
CLINICAL_EFFECTS = {"age": 0.8, "stage": 0.9, "treatment": -0.8, "crp": 0.9}
MODULE_SIZE = 20  # noise genes that share one hidden cause
GENES_PER_INCOMPLETE = 10  # one gene in this many has missing values
BLOCK_CELLS = 1 << 20  # made at a time, so that nothing of the table's size is made twice


@dataclass(frozen=True, eq=False, repr=False)
class Cohort:
    """Table made by :func:`make_cohort`, and the truth about it.

    Attributes
    ----------
    frame : polars.DataFrame
        Everything: `patient` (an identifier), the clinical columns, the genes, and last `outcome`,
        which is "relapse" or "remission".
    schema : Schema
        What the dtypes of `X` do not say: the order of `stage` and `grade`, and that the numbers
        of `ward` are labels.
    truth : polars.DataFrame
        One row a column of `X`: `column`, its `role`, its `partner` (the causal column of which a
        redundant one is a copy, else null), its `effect` (the coefficient in the model of the
        outcome, 0 where it has none).
    log_odds : float array of shape (n_patients,)
        The left-hand side of the model for every patient. Nothing can predict better.

    See Also
    --------
    make_cohort : What the roles mean.

    Examples
    --------
    >>> from featly.datasets import make_cohort
    >>> make_cohort()
    Cohort(300 patients, 2011 columns: 9 causal, 26 redundant, 198 batch, 1778 noise)
    """

    frame: "pl.DataFrame"
    schema: Schema
    truth: "pl.DataFrame"
    log_odds: np.ndarray

    @property
    def X(self) -> "pl.DataFrame":  # noqa: N802
        """The columns to rank: all but the identifier and the outcome."""
        return self.frame.drop("patient", "outcome")

    @property
    def y(self) -> np.ndarray:
        """The outcome, an array of text."""
        return self.frame["outcome"].to_numpy().astype(str)

    def __repr__(self) -> str:
        roles = self.truth["role"].to_list()
        words = ("causal", "redundant", "batch", "noise")
        counts = ", ".join(f"{roles.count(role)} {role}" for role in words)
        return f"Cohort({self.frame.height} patients, {len(roles)} columns: {counts})"


def make_cohort(
    *,
    n_patients: int = 300,
    n_genes: int = 2000,
    n_causal_genes: int = 5,
    n_redundant: int = 5,
    redundancy: float = 0.9,
    effect_size: float = 1.2,
    relapse_rate: float = 0.4,
    n_batches: int = 6,
    batch_share: float = 0.1,
    batch_effect: float = 1.0,
    confounding: float = 0.0,
    missing_rate: float = 0.05,
    random_state: int = 0,
) -> Cohort:
    r"""Make a clinical table with gene expression, of which the truth is known.

    Every patient has a log odds of relapse,

    .. math::

        \eta_i = \beta_0 + \sum_{j \text{ causal}} \beta_j z_{ij},

    where :math:`z_{ij}` is the causal column j before values went missing, as a number, with mean
    0 and variance 1 over the cohort. As numbers, stages I to IV are 0 to 3, treatments "standard"
    and "intensive" are 0 and 1, and `crp` is its logarithm. A patient relapses if
    :math:`\eta_i` plus a draw from the standard logistic distribution is positive, so that
    :math:`P(\text{relapse}) = 1 / (1 + e^{-\eta_i})`. The intercept :math:`\beta_0` is the one
    with which the wanted number of patients relapses.

    Every column has one role:

    causal
        It enters the sum. These are age, stage, treatment, crp, and `n_causal_genes` genes.
        Causal columns are independent of each other.
    redundant
        A noisy copy of one causal column, its partner: :math:`\rho z + \sqrt{1 - \rho^2}\, e`
        with Gaussian e. Given the partner, it says nothing about the outcome. These are
        `n_redundant` genes for each causal one, and grade, a copy of stage cut into three levels.
    batch
        A gene that the laboratory plate moves, by a random shift for each plate, and that depends
        on nothing else; or the plate itself. It says nothing about the outcome unless the plate
        does (`confounding`).
    noise
        Independent of the outcome, of all causal columns and of the plate, but for where values
        are missing: sex, bmi, smoker, ward, creatinine, all other genes. These genes come in
        modules of 20 which share a hidden cause, and creatinine depends on sex.

    Values are missing in crp and creatinine, about five times as often in one ward; in smoker, at
    random; and in one gene of ten, about five times as often on one plate, which differs between
    genes.

    Parameters
    ----------
    n_patients : int, default=300
        Rows, at least 4.
    n_genes : int, default=2000
        Gene columns, named G0001, G0002 and so on. Those with a role are spread at random.
    n_causal_genes : int, default=5
        Genes in the model of the outcome.
    n_redundant : int, default=5
        Copies of each causal gene.
    redundancy : float, default=0.9
        The correlation :math:`\rho` of a copy with its partner, above 0, up to 1.
    effect_size : float, default=1.2
        Coefficients of causal genes lie between 0.8 and 1.2 times this, with random sign; those
        of the clinical columns are 0.8 (age), 0.9 (stage, crp) and -0.8 (treatment) times this.
    relapse_rate : float, default=0.4
        Fraction of the patients who relapse, rounded to a number of patients. At least one does,
        and at least one does not.
    n_batches : int, default=6
        Plates.
    batch_share : float, default=0.1
        Fraction of the genes, of those neither causal nor copies, that the plate moves. There are
        none with a single plate or without an effect.
    batch_effect : float, default=1.0
        Standard deviation of the shifts, where that of the gene within a plate is 1.
    confounding : float, default=0.0
        Fraction of the patients whose plate follows from their outcome. At 0 the outcomes are
        spread evenly over the plates, as a careful laboratory would do; at 1 a plate has one
        outcome only. The higher, the more genes of role "batch" look like signal: the trap.
    missing_rate : float, default=0.05
        Fraction of missing values in each incomplete column, from 0 to 0.4, rounded to a number
        of values.
    random_state : int, default=0
        Seed of the random numbers.
        Each part of the table has a stream of its own: another `missing_rate`, for example,
        changes nothing but the missing values.

    Returns
    -------
    Cohort
        With `frame`, `X`, `y`, `schema`, `truth`, `log_odds`.

    References
    ----------
    Bolón-Canedo, V., Sánchez-Maroño, N. and Alonso-Betanzos, A. (2013), A review of feature
    selection methods on synthetic data, *Knowledge and Information Systems* 34, 483-519.

    Examples
    --------
    >>> import polars as pl
    >>> from featly.datasets import make_cohort
    >>> cohort = make_cohort(n_patients=200, n_genes=500)
    >>> cohort.frame.select("patient", "age", "stage", "ward", "crp", "G0001", "outcome").head(3)
    shape: (3, 7)
    ┌─────────┬─────┬───────┬──────┬──────┬───────┬───────────┐
    │ patient ┆ age ┆ stage ┆ ward ┆ crp  ┆ G0001 ┆ outcome   │
    │ ---     ┆ --- ┆ ---   ┆ ---  ┆ ---  ┆ ---   ┆ ---       │
    │ str     ┆ i64 ┆ str   ┆ i64  ┆ f64  ┆ f64   ┆ str       │
    ╞═════════╪═════╪═══════╪══════╪══════╪═══════╪═══════════╡
    │ N0001   ┆ 54  ┆ III   ┆ 14   ┆ 5.56 ┆ 7.06  ┆ relapse   │
    │ N0002   ┆ 78  ┆ I     ┆ 21   ┆ 1.84 ┆ 7.244 ┆ remission │
    │ N0003   ┆ 65  ┆ II    ┆ 23   ┆ 1.42 ┆ 7.946 ┆ relapse   │
    └─────────┴─────┴───────┴──────┴──────┴───────┴───────────┘
    >>> cohort.truth.filter(pl.col("column").is_in(["age", "grade"])).rows()
    [('age', 'causal', None, 0.96), ('grade', 'redundant', 'stage', 0.0)]

    The roles of the genes that a filter finds:

    >>> from featly import FTest
    >>> table = FTest().fit(cohort.X.select("^G.*$"), cohort.y).table()
    >>> passed = table.filter(pl.col("q_value") <= 0.05)
    >>> passed = passed.join(cohort.truth, left_on="feature", right_on="column")
    >>> passed["role"].value_counts().sort("role").rows()
    [('causal', 4), ('noise', 3), ('redundant', 17)]
    """
    _check(locals())
    seeds = np.random.SeedSequence(random_state).spawn(7)
    (
        clinical_draws,
        gene_draws,
        effect_draws,
        outcome_draws,
        plate_draws,
        filler_draws,
        missing_draws,
    ) = map(np.random.default_rng, seeds)

    clinical = _draw_clinical(clinical_draws, n_patients, redundancy)
    genes = _Genes(gene_draws, n_genes, n_patients)
    causal = genes.take(n_causal_genes, "causal")
    genes.write(causal, effect_draws.standard_normal((n_causal_genes, n_patients)))
    sizes = effect_draws.uniform(0.8, 1.2, n_causal_genes) * effect_draws.choice(
        [-1, 1], n_causal_genes
    )
    effects = effect_size * np.array([*CLINICAL_EFFECTS.values(), *sizes])
    z = np.array([_standardise(x) for x in (*_causal_numbers(clinical), *genes.values[causal])])
    log_odds, relapsed = _draw_outcome(outcome_draws, effects @ z, relapse_rate)
    plate = _draw_plates(plate_draws, relapsed, n_batches, confounding)
    clinical["plate"] = np.array([f"P{k + 1}" for k in range(n_batches)])[plate]

    copies = genes.take(n_causal_genes * n_redundant, "redundant")
    partners = causal.repeat(n_redundant)
    originals = z[len(CLINICAL_EFFECTS) :].repeat(n_redundant, axis=0)
    genes.write(copies, _noisy_copies(filler_draws, originals, redundancy))
    if n_batches > 1 and batch_effect > 0:
        for rows in genes.blocks(round(batch_share * genes.n_left), "batch"):
            shift = filler_draws.normal(0, batch_effect, (len(rows), n_batches))
            genes.write(
                rows, filler_draws.standard_normal((len(rows), n_patients)) + shift[:, plate]
            )
    for rows in genes.blocks(genes.n_left, "noise"):
        genes.write(rows, _draw_modules(filler_draws, len(rows), n_patients))

    frame = _frame(
        clinical,
        genes,
        relapsed,
        _draw_missing(missing_draws, clinical, plate, n_genes, missing_rate),
    )
    roles = dict.fromkeys(clinical, "noise") | dict.fromkeys(CLINICAL_EFFECTS, "causal")
    roles |= {"grade": "redundant", "plate": "batch"}
    roles |= zip(genes.names, genes.roles, strict=True)
    partner_of = {"grade": "stage"}
    partner_of |= zip(genes.names[copies], genes.names[partners], strict=True)
    effect_of = dict(zip([*CLINICAL_EFFECTS, *genes.names[causal]], effects, strict=True))
    truth = _truth(roles, partner_of, effect_of)
    schema = Schema(ordinal={"stage": STAGES, "grade": GRADES}, categorical=["ward"])
    return Cohort(frame, schema, truth, log_odds)


class _Genes:
    """Expression values on a log scale, one row a gene, filled role by role."""

    def __init__(self, rng: np.random.Generator, n_genes: int, n_patients: int) -> None:
        width = max(4, len(str(n_genes)))
        self.names = np.array([f"G{k:0{width}}" for k in range(1, n_genes + 1)], dtype=object)
        self.roles = np.full(n_genes, "noise", dtype=object)
        self.values = np.empty((n_genes, n_patients))
        self._order = rng.permutation(n_genes)
        self._taken = 0
        self._level = rng.uniform(6, 10, n_genes)
        self._spread = rng.lognormal(-0.5, 0.4, n_genes)

    @property
    def n_left(self) -> int:
        """Genes that have no values yet."""
        return len(self._order) - self._taken

    def take(self, count: int, role: str) -> np.ndarray:
        """Return the rows of the next genes, and give them this role."""
        rows = self._order[self._taken : self._taken + count]
        self._taken += len(rows)
        self.roles[rows] = role
        return rows

    def blocks(self, count: int, role: str) -> Iterator[np.ndarray]:
        """Yield the next genes in parts of whole modules, so that little memory is needed."""
        cells = MODULE_SIZE * self.values.shape[1]
        size = MODULE_SIZE * max(1, BLOCK_CELLS // cells)
        for low in range(0, count, size):
            yield self.take(min(size, count - low), role)

    def write(self, rows: np.ndarray, values: np.ndarray) -> None:
        """Bring standard values into each gene's range, with three decimals."""
        values *= self._spread[rows, None]
        values += self._level[rows, None]
        self.values[rows] = values.round(3)


def _draw_clinical(rng: np.random.Generator, n: int, redundancy: float) -> dict[str, np.ndarray]:
    """Draw the clinical columns but the plate."""
    male = rng.random(n) < 0.5
    stage = rng.choice(4, n, p=[0.25, 0.35, 0.25, 0.15])
    grade = np.digitize(_noisy_copies(rng, _standardise(stage), redundancy), [-0.6, 0.6])
    return {
        "age": rng.normal(62, 11, n).round().clip(18, 95).astype(np.int64),
        "sex": np.where(male, "male", "female"),
        "bmi": rng.normal(26, 4, n).clip(15, 50).round(1),
        "smoker": rng.choice(["never", "former", "current"], n, p=[0.5, 0.3, 0.2]),
        "stage": np.array(STAGES)[stage],
        "grade": np.array(GRADES)[grade],
        "treatment": rng.choice(TREATMENTS, n),
        "ward": rng.choice(WARDS, n),
        "crp": rng.lognormal(1.5, 0.9, n).round(2).clip(0.01),
        "creatinine": (rng.lognormal(4.2, 0.25, n) * np.where(male, 1.2, 1.0)).round(1),
    }


def _causal_numbers(clinical: dict[str, np.ndarray]) -> list[np.ndarray]:
    """Return the causal clinical columns as the model takes them, in the order of their effects."""
    return [
        clinical["age"],
        np.searchsorted(STAGES, clinical["stage"]),  # I < II < III < IV as text, too
        clinical["treatment"] == TREATMENTS[1],
        np.log(clinical["crp"]),
    ]


def _standardise(x: np.ndarray) -> np.ndarray:
    """Standardise to mean 0 and variance 1, or all 0 where x is constant."""
    centred = x - x.mean()
    return np.asarray(centred / (centred.std() or 1.0))


def _noisy_copies(rng: np.random.Generator, z: np.ndarray, redundancy: float) -> np.ndarray:
    """Draw noisy copies of standard values."""
    return np.asarray(redundancy * z + np.sqrt(1 - redundancy**2) * rng.standard_normal(z.shape))


def _draw_modules(rng: np.random.Generator, n_genes: int, n_patients: int) -> np.ndarray:
    """Draw standard values of genes, each twenty of which share a hidden cause."""
    hidden = rng.standard_normal((-(-n_genes // MODULE_SIZE), n_patients))
    loading = rng.uniform(0, 0.8, (n_genes, 1))
    values = rng.standard_normal((n_genes, n_patients))
    values *= np.sqrt(1 - loading**2)
    values += loading * hidden.repeat(MODULE_SIZE, axis=0)[:n_genes]
    return values


def _draw_outcome(
    rng: np.random.Generator, score: np.ndarray, relapse_rate: float
) -> tuple[np.ndarray, np.ndarray]:
    """Draw log odds and who relapses: those with the highest score plus logistic noise."""
    n = len(score)
    latent = score + rng.logistic(size=n)
    ordered = np.sort(latent)[::-1]
    n_relapses = min(max(round(relapse_rate * n), 1), n - 1)
    threshold = ordered[n_relapses - 1 : n_relapses + 1].mean()
    return score - threshold, latent > threshold


def _draw_plates(
    rng: np.random.Generator, relapsed: np.ndarray, n_batches: int, confounding: float
) -> np.ndarray:
    """Draw the plate of every patient, from 0."""
    n = len(relapsed)
    shuffled = rng.permutation(n)
    by_outcome = shuffled[np.argsort(relapsed[shuffled], kind="stable")]
    plate = np.empty(n, dtype=np.int64)
    plate[by_outcome] = np.arange(n) % n_batches  # in turn: as many of each outcome on each
    if confounding > 0:
        n_own = min(max(round(n_batches * relapsed.mean()), 1), n_batches - 1)
        for patients, first, count in (
            (np.flatnonzero(relapsed), 0, n_own),
            (np.flatnonzero(~relapsed), n_own, n_batches - n_own),
        ):
            tied = rng.permutation(patients)[: round(confounding * len(patients))]
            plate[tied] = first + np.arange(len(tied)) % count
    return plate


def _draw_missing(
    rng: np.random.Generator,
    clinical: dict[str, np.ndarray],
    plate: np.ndarray,
    n_genes: int,
    missing_rate: float,
) -> dict[str | int, np.ndarray]:
    """Draw the missing values of each clinical column, by name, and of each gene, by its row."""
    n = len(plate)
    count = round(missing_rate * n)
    if not count:
        return {}
    n_incomplete = n_genes // GENES_PER_INCOMPLETE
    rows = np.sort(rng.choice(n_genes, n_incomplete, replace=False))
    bad_plate = rng.integers(plate.max() + 1, size=n_incomplete)
    careless = clinical["ward"] == CARELESS_WARD
    is_careless = [careless, careless, np.zeros(n, bool), *(plate == bad_plate[:, None])]
    # Every value gets a random time, shorter where missing values are likely; those with the
    # shortest times are missing. So each column has exactly `count` missing values.
    waiting_time = rng.exponential(size=(len(is_careless), n)) / np.where(
        is_careless, MORE_OFTEN, 1
    )
    missing = np.argpartition(waiting_time, count, axis=1)[:, :count]
    return dict(zip(["crp", "creatinine", "smoker", *rows.tolist()], missing, strict=True))


def _frame(
    clinical: dict[str, np.ndarray],
    genes: _Genes,
    relapsed: np.ndarray,
    missing: dict[str | int, np.ndarray],
) -> "pl.DataFrame":
    """Return the whole table, missing values in it."""
    import polars as pl

    n = len(relapsed)
    width = max(4, len(str(n)))
    columns: dict[str, list[Any]] = {"patient": [f"N{k:0{width}}" for k in range(1, n + 1)]}
    for name, values in clinical.items():
        columns[name] = values.tolist()
        for row in missing.get(name, ()):
            columns[name][row] = None
    incomplete = [row for row in missing if isinstance(row, int)]
    for row in incomplete:
        genes.values[row, missing[row]] = np.nan
    expression = pl.DataFrame(genes.values, schema=genes.names.tolist(), orient="col")
    expression = expression.with_columns(pl.col(genes.names[incomplete].tolist()).fill_nan(None))
    outcome = pl.Series("outcome", np.where(relapsed, "relapse", "remission"))
    return pl.DataFrame(columns).hstack(expression).with_columns(outcome)


def _truth(
    roles: dict[str, str], partners: dict[str, str], effects: dict[str, float]
) -> "pl.DataFrame":
    """Return the truth, one row a column."""
    import polars as pl

    return pl.DataFrame(
        {
            "column": list(roles),
            "role": list(roles.values()),
            "partner": [partners.get(name) for name in roles],
            "effect": [float(effects.get(name, 0.0)) for name in roles],
        },
        schema_overrides={"partner": pl.String},
    )


RULES: dict[str, Rule] = {
    "n_patients": Whole(at_least=4),
    "n_genes": Whole(at_least=0),
    "n_causal_genes": Whole(at_least=0),
    "n_redundant": Whole(at_least=0),
    "n_batches": Whole(at_least=1),
    "random_state": Whole(at_least=0),
    "redundancy": Number(above=0, at_most=1),
    "effect_size": Number(above=0),
    "relapse_rate": Number(above=0, below=1),
    "batch_share": Number(at_least=0, at_most=1),
    "batch_effect": Number(at_least=0),
    "confounding": Number(at_least=0, at_most=1),
    "missing_rate": Number(at_least=0, at_most=0.4),
}


def _check(arguments: dict[str, Any]) -> None:
    """Raise ValueError for arguments of which no cohort can be made."""
    for name, rule in RULES.items():
        rule.check(name, arguments[name])
    n_genes, n_causal_genes, n_redundant, n_patients, n_batches = (
        arguments[name]
        for name in ("n_genes", "n_causal_genes", "n_redundant", "n_patients", "n_batches")
    )
    needed = n_causal_genes * (1 + n_redundant)
    if n_genes < needed:
        raise ValueError(
            f"n_genes={n_genes}: give at least {needed}, for {n_causal_genes} causal genes and "
            f"{n_redundant} copies of each"
        )
    if n_batches > n_patients:
        raise ValueError(f"n_batches={n_batches}: give at most one a patient, {n_patients}")
    if arguments["confounding"] > 0 and n_batches == 1:
        raise ValueError(
            f"confounding={arguments['confounding']!r}: give n_batches of at least 2, one batch "
            "cannot tell the outcomes apart"
        )
