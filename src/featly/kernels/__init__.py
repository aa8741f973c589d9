"""Kernels on mixed columns."""

from featly.kernels.clinical import ClinicalKernel

__all__ = ["ClinicalKernel"]
