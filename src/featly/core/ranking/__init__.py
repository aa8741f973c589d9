"""Scores to orders, votes, graphs, subset search."""
