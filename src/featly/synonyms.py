"""Names of methods in other tools: a method here, or which one comes nearest.

A name is compared in small letters without ``-``, ``_``, ``.`` and blanks. Names of featly's own
methods, such as "information.gain", need no entry.
"""

__all__ = ["NEAREST", "SYNONYMS", "squash"]


def squash(name: str) -> str:
    """Return a name as it is compared.

    Examples
    --------
    >>> squash("Information.gain") == squash("information-gain")
    True
    """
    return "".join(letter for letter in name.lower() if letter not in "-_. ")


# the same statistic, or the same search: the name gives the method
SYNONYMS: dict[str, str] = {
    # Weka
    "InfoGainAttributeEval": "information-gain",
    "GainRatioAttributeEval": "gain-ratio",
    "SymmetricalUncertAttributeEval": "symmetric-uncertainty",
    "SymmetricUncertaintyAttributeEval": "symmetric-uncertainty",
    "ChiSquaredAttributeEval": "chi-squared",
    "ReliefFAttributeEval": "relieff",
    "CfsSubsetEval": "cfs",
    "ConsistencySubsetEval": "consistency",
    "SVMAttributeEval": "svm-rfe",
    "WrapperSubsetEval": "wrapper",
    # scikit-learn, SciPy
    "f_classif": "f-test",
    "f_regression": "f-test",
    "f_oneway": "f-test",
    "ttest_ind": "f-test",
    "anova": "f-test",
    "SequentialFeatureSelector": "wrapper",
    # R: FSelector, FSelectorRcpp, praznik, CORElearn, mlr3filters
    "symmetrical.uncertainty": "symmetric-uncertainty",
    "symuncert": "symmetric-uncertainty",
    "infogain": "information-gain",
    "Gini": "gini-index",
    # Orange, KNIME, skfeature, skrebate, others
    "s2n": "signal-to-noise",
    "SNR": "signal-to-noise",
    "pymrmr": "mrmr",
    "fast correlation based filter": "fcbf",
    "correlation based feature selection": "cfs",
    "ridge regression": "ridge",
}  # fmt: skip

# something else: what comes nearest here, as one sentence
_BY_COUNT = (
    "any method selects the best K columns by --count K (n_features_to_select=K), and f-test is "
    "what it scores them by"
)
_L1 = (
    "there is no L1 penalty here; arom looks for the fewest columns that a linear machine needs, "
    "and ridge has the squared penalty"
)
_IMPORTANCE = "forest ranks by the accuracy lost when a column is permuted out of bag"
_NEIGHBOURS = (
    "information-gain is the mutual information with the class, from counts of levels and not "
    "from nearest neighbours"
)
_T_TEST = (
    "univariate-test does it with continuous=welch or continuous=student; f-test gives the same as "
    "the t-test with equal variances"
)
_RANKS = "univariate-test compares classes by ranks with continuous=kruskal-wallis"
_COPIES = "redundancy-filter leaves out columns that a better one covers, judged by the target"
_RFE = "svm-rfe eliminates columns by a support vector machine, mkl-rfe those of mixed kinds"
_Q_VALUES = "f-test and univariate-test have q-values, and --count fdr selects by them"
_LEARNER = (
    "it is a learner, which ranks nothing; 'featly evaluate --learner NAME' judges a selection by "
    "one"
)
NEAREST: dict[str, str] = {
    "SelectKBest": _BY_COUNT,
    "SelectPercentile": _BY_COUNT,
    "GenericUnivariateSelect": _BY_COUNT,
    "Ranker": _BY_COUNT,
    "SelectFdr": _Q_VALUES,
    "SelectFpr": _Q_VALUES,
    "SelectFwe": _Q_VALUES,
    "RFE": _RFE,
    "RFECV": _RFE,
    "rfeControl": _RFE,
    "SelectFromModel": "forest, svm-rfe, arom and ridge rank by a fitted model",
    "mutual_info_classif": _NEIGHBOURS,
    "mutual_info_regression": _NEIGHBOURS,
    "chi2": (
        "chi-squared is Pearson's statistic of levels against classes; scikit-learn's chi2 sums "
        "the values of a column instead"
    ),
    "r_regression": "f-test ranks as the absolute correlation with a target of numbers does",
    "CorrelationAttributeEval": "f-test ranks as the absolute correlation with two classes does",
    "Pearson": "f-test ranks as the absolute correlation does",
    "VarianceThreshold": (
        "no method ranks without a target; columns without any variance come last everywhere, and "
        "'featly describe' names them"
    ),
    "findCorrelation": _COPIES,
    "mRMRe": "mrmr has the same criterion, from counts of levels and not from correlations",
    "ReliefFexpRank": "relieff weighs the nearest rows the same",
    "permutation_importance": _IMPORTANCE,
    "lasso": _L1,
    "LassoCV": _L1,
    "glmnet": _L1,
    "elasticnet": _L1,
    "L1": _L1,
    "boruta": f"{_IMPORTANCE}, without Boruta's test against shuffled columns",
    "BorutaPy": f"{_IMPORTANCE}, without Boruta's test against shuffled columns",
    "ranger": _IMPORTANCE,
    "RandomForest": _IMPORTANCE,
    "RandomForestClassifier": _IMPORTANCE,
    "ExtraTreesClassifier": _IMPORTANCE,
    "random.forest.importance": _IMPORTANCE,
    "varSelRF": _IMPORTANCE,
    "xgboost": _IMPORTANCE,
    "lightgbm": _IMPORTANCE,
    "shap": _IMPORTANCE,
    "limma": "f-test is the test without moderated variances",
    "DESeq2": "f-test and univariate-test take normalised numbers, not counts of reads",
    "t-test": _T_TEST,
    "welch": _T_TEST,
    "wilcoxon": _RANKS,
    "mannwhitneyu": _RANKS,
    "kruskal": _RANKS,
    "kruskal_test": _RANKS,
    "fisher": "univariate-test does Fisher's exact test of categorical columns",
    "fisher_score": "signal-to-noise and f-test compare distances of class means with the spread",
    "OneRAttributeEval": "gini-index and information-gain score one column as a tree's root does",
    "PrincipalComponents": "it makes new columns; the methods here choose among those there are",
    "PCA": "it makes new columns; the methods here choose among those there are",
    "genetic": "wrapper searches subsets step by step, judged by a learner",
    "stepwise": "wrapper adds columns step by step, judged by a learner",
    "J48": _LEARNER,
    "C4.5": _LEARNER,
    "SVC": _LEARNER,
    "SVM": _RFE,
    "SMO": _LEARNER,
    "NaiveBayes": _LEARNER,
    "knn": _LEARNER,
    "IBk": _LEARNER,
    "LogisticRegression": _L1,
}  # fmt: skip
