"""Kernels between rows: clinical, Gaussian, sets of kernels, multiple-kernel learning."""
