"""Compiled loops: arrays in, arrays out. The only folder that imports numba."""

from windrow.kernels import jit as jit  # before any kernel: it says where they are kept
