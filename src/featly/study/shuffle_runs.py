"""Runs of the whole protocol on the folds of a table, with the real labels or shuffled ones.

Folds are dealt once, by the real classes, and labels are shuffled within them. Such shuffles are a
group of permutations that leave the class counts of every fold alone, and the folds were dealt
with the same chance under each: so the test of one of them against the others keeps its level,
given the folds (Hemerik and Goeman 2018, Theorem 2). And every training part has the same rows in
all runs, so it is copied, filled and read once.

Where labels that stay in their folds leave too few arrangements, such as with groups of rows of
many sizes, labels are shuffled over all folds and folds are dealt anew.

Hemerik, J. and Goeman, J. (2018), Exact testing with random permutations, *TEST* 27, 811-825.
"""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from featly.basics.typing import AnyArray, IntArray
from featly.measures.fold_tally import AreaTally, RateTally
from featly.measures.shuffle_test import is_reached
from featly.study.dataset import Dataset
from featly.study.evaluate import Protocol
from featly.study.nested_folds import count_arrangements, deal_folds, shuffle_labels
from featly.study.path_journal import PathJournal
from featly.study.paths import PathTask, fit_path
from featly.study.training_part import HeldParts, TrainingPart

__all__ = ["Draw", "ShuffleDesign", "ShuffleRun", "ShuffleTask"]

LABELS, DEAL = 3, 4  # parts of seeds
FEWEST_WITHIN = 1000  # arrangements of the labels within folds; with fewer, folds are dealt anew
KIND = "run"  # of the clock


@dataclass(frozen=True, eq=False)
class Draw:
    """Labels and folds of a run; number 0 has the real labels."""

    number: int
    codes: IntArray
    fold_of: IntArray


class ShuffleDesign:
    """The labels and folds of all runs, by their number.

    Parameters
    ----------
    dataset : Dataset
    n_folds : int
    blocks : array or None
        Rows of one block swap labels with each other only.
    random_state : int

    Attributes
    ----------
    keeps_folds : bool
        Whether all runs have the same folds, and labels are shuffled within them.
    n_arrangements : int
        How many different labellings there are, counted up to 1,000.
    """

    def __init__(
        self, dataset: Dataset, n_folds: int, blocks: AnyArray | None, random_state: int
    ) -> None:
        self.codes: IntArray = dataset.codes
        self.groups: IntArray | None = dataset.row_groups
        self.blocks: AnyArray | None = blocks
        self.n_folds: int = n_folds
        self.random_state: int = random_state
        # what is exchangeable is looked at before folds are dealt: blocks may split groups
        over_all = count_arrangements(self.codes, groups=self.groups, blocks=blocks)
        self._fold_of = self._deal(self.codes, 0)
        within = count_arrangements(self.codes, groups=self.groups, blocks=self._cells())
        self.keeps_folds: bool = within >= min(FEWEST_WITHIN, over_all)
        self.n_arrangements: int = within if self.keeps_folds else over_all

    def draw(self, number: int) -> Draw:
        """Return the labels and folds of a run."""
        if number == 0:
            return Draw(0, self.codes, self._fold_of)
        blocks = self._cells() if self.keeps_folds else self.blocks
        generator = self._generator(LABELS, number)
        codes = shuffle_labels(self.codes, generator, groups=self.groups, blocks=blocks)
        return Draw(number, codes, self._fold_of if self.keeps_folds else self._deal(codes, number))

    def _cells(self) -> IntArray:
        """Return the block and fold of every row as one number."""
        if self.blocks is None:
            return self._fold_of
        block_of = np.unique(self.blocks, return_inverse=True)[1]
        cells: IntArray = block_of * self.n_folds + self._fold_of
        return cells

    def _deal(self, codes: IntArray, number: int) -> IntArray:
        return deal_folds(codes, self.n_folds, self._generator(DEAL, number), self.groups)

    def _generator(self, part: int, number: int) -> np.random.Generator:
        return np.random.default_rng(np.random.SeedSequence([self.random_state, part, number]))


@dataclass(frozen=True, eq=False)
class ShuffleRun:
    """Outcome of a run.

    Attributes
    ----------
    value : float
        The statistic; NaN where nothing was predicted. Where the run was ended because it cannot
        reach the observed value any more, the largest value that it could have had.
    has_values : bool
        Whether there are decision values.
    n_paths : int
        Paths that were fitted.
    seconds : float
        The time of this process.
    errors : tuple of str
    """

    value: float
    has_values: bool
    n_paths: int
    seconds: float
    errors: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class ShuffleTask:
    """Some runs that are to be done.

    Attributes
    ----------
    draws : sequence of Draw
    methods : tuple of str
    n_folds : int
    keeps_folds : bool
        Whether all draws have the same folds.
    statistic : {"auc", "bcr"} or None
        None is the area if there are decision values of two classes, else the balanced rate.
    observed : float or None
        A run ends as soon as it cannot reach this value.
    """

    draws: Sequence[Draw]
    methods: tuple[str, ...]
    n_folds: int
    keeps_folds: bool
    statistic: str | None = None
    observed: float | None = None

    @property
    def kind(self) -> str:
        """For the time left."""
        return KIND

    def run(
        self, dataset: Dataset, methods: Mapping[str, Any], protocol: Protocol, held: HeldParts
    ) -> list[ShuffleRun]:
        """Fit the paths of all draws, fold by fold, so that a training part is made once."""
        runs = [_Run(self, draw, dataset, methods, protocol) for draw in self.draws]
        shares = self.keeps_folds and protocol.resample is None
        for fold in range(self.n_folds):
            for run in runs:
                if not run.is_hopeless():
                    run.fit_fold(fold, held if shares else None)
        return [run.outcome() for run in runs]

    def times(self, runs: Sequence[ShuffleRun]) -> list[float]:
        """Return the seconds of every run."""
        return [run.seconds for run in runs]

    def key(self, journal: PathJournal) -> str:
        """Return the key of the outcome in a journal."""
        arrays = [array for draw in self.draws for array in (draw.codes, draw.fold_of)]
        parts = ("runs", self.n_folds, self.keeps_folds, self.statistic, self.observed, *arrays)
        return journal.key(parts, self.methods)

    def pack(self, runs: Sequence[ShuffleRun]) -> bytes:
        """Return the outcome as bytes."""
        return json.dumps([vars(run) for run in runs]).encode()

    def unpack(self, kept: bytes) -> list[ShuffleRun]:
        """Return the outcome that was kept."""
        return [ShuffleRun(**run | {"errors": tuple(run["errors"])}) for run in json.loads(kept)]


class _Run:
    """One run of the protocol, fold by fold."""

    def __init__(
        self,
        task: ShuffleTask,
        draw: Draw,
        dataset: Dataset,
        methods: Mapping[str, Any],
        protocol: Protocol,
    ) -> None:
        self.task, self.draw, self.methods, self.protocol = task, draw, methods, protocol
        self.table = dataset
        self.dataset = replace(dataset, codes=draw.codes, y=dataset.classes[draw.codes])
        two_classes = len(dataset.classes) == 2 and task.statistic != "bcr"
        self.areas = {
            name: AreaTally(draw.codes, draw.fold_of) for name in (methods if two_classes else ())
        }
        self.rates = {name: RateTally(draw.codes) for name in methods}
        self.errors: list[str] = []
        self.has_values = self.has_predictions = False
        self.n_paths, self.seconds = 0, 0.0

    def fit_fold(self, fold: int, held: HeldParts | None) -> None:
        """Fit the paths of a fold, and count what they predict."""
        began = time.process_time()
        is_test = self.draw.fold_of == fold
        train, test = np.flatnonzero(~is_test), np.flatnonzero(is_test)
        part = None
        if held is not None:
            part = held.part(fold, lambda: TrainingPart(self.table, self.protocol, train, test))
        for name, method in self.methods.items():
            task = PathTask(name, train, test)
            path = fit_path(self.dataset, method, self.protocol, task, part)
            self.errors += path.errors
            self.has_predictions |= bool((path.codes >= 0).any())
            self.has_values |= bool(np.isfinite(path.values).any())
            if self.areas:
                self.areas[name].add(test, np.where(path.codes < 0, np.nan, path.values))
            self.rates[name].add(test, path.codes)
            self.n_paths += 1
        self.seconds += time.process_time() - began

    def is_hopeless(self) -> bool:
        """Return whether the run cannot reach the observed value any more."""
        observed = self.task.observed
        if observed is None or self.n_paths == 0:
            return False
        return not is_reached(self._mean("most"), observed)

    def outcome(self) -> ShuffleRun:
        """Return what was found so far."""
        value = self._mean("most") if self.has_predictions else float("nan")
        return ShuffleRun(
            value, self.has_values, self.n_paths, self.seconds, tuple(dict.fromkeys(self.errors))
        )

    def _mean(self, figure: str) -> float:
        statistic = self.task.statistic
        if statistic is None:
            statistic = "auc" if self.has_values and self.areas else "bcr"
        tallies = self.areas if statistic == "auc" else self.rates
        return float(np.mean([getattr(tally, figure)() for tally in tallies.values()]))
