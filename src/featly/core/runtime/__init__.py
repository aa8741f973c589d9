"""Compiled loops, threads, SIMD instructions, a CUDA device."""
