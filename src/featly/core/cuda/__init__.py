"""Twins of the core's loops on a CUDA device, by CuPy: same names, same results.

Nothing here is imported before a device is asked for or a table lies on one.
"""
