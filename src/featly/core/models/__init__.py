"""Least squares, a perceptron, naive Bayes, near neighbours."""
