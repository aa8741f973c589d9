"""A ranker for tests, made of parts: what a user's ensemble would be."""

from featly.base import Ranker
from featly.combine.engine import rank_parts


class Ensemble(Ranker):
    """Rank the parts that `make_parts(problem)` returns by a ranker, and combine."""

    def __init__(
        self,
        ranker,
        make_parts,
        *,
        engine=rank_parts,
        options=None,
        n_features_to_select=None,
        schema=None,
        n_jobs=1,
        verbose=False,
    ):
        self.ranker = ranker
        self.make_parts = make_parts
        self.engine = engine
        self.options = options
        self.n_features_to_select = n_features_to_select
        self.schema = schema
        self.n_jobs = n_jobs
        self.verbose = verbose

    _many_classes = True

    def _resources(self):
        return self.ranker._resources()

    def _takes_integers(self):
        return self.ranker._takes_integers()

    def _rank(self, problem):
        parts = self.make_parts(problem)
        options = self.options or {}
        return self.engine(
            self.ranker, problem, parts, n_jobs=self.n_jobs, verbose=self.verbose, **options
        )


def _forward(name):
    return property(lambda self: getattr(self.ranker, name))


for _name in ("_kinds", "_missing", "_sparse", "_asks", "_targets", "_uses", "_takes_bytes"):
    setattr(Ensemble, _name, _forward(_name))
