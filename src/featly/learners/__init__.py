"""Classifiers to evaluate a selection by: our own where scikit-learn has none, and all by name."""

from featly.learners.balanced import Balanced, balance
from featly.learners.c45 import C45
from featly.learners.clinical_svc import ClinicalSVC
from featly.learners.encoding import Encoder
from featly.learners.heom import HEOMNeighbors
from featly.learners.linear_or_neighbours import LinearOrNeighbours
from featly.learners.linear_svm import LinearSVM
from featly.learners.mixed_naive_bayes import MixedNaiveBayes
from featly.learners.mkl_classifier import MKLClassifier
from featly.learners.names import LEARNERS, make_learner
from featly.learners.one_layer import OneLayerNetwork
from featly.learners.path import PathPredictions
from featly.learners.proximal_svc import ProximalSVC

__all__ = [
    "C45",
    "LEARNERS",
    "Balanced",
    "ClinicalSVC",
    "Encoder",
    "HEOMNeighbors",
    "LinearOrNeighbours",
    "LinearSVM",
    "MKLClassifier",
    "MixedNaiveBayes",
    "OneLayerNetwork",
    "PathPredictions",
    "ProximalSVC",
    "balance",
    "make_learner",
]
