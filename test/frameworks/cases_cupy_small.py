# SPDX-License-Identifier: Apache-2.0
"""Some of CuPy's cases: those whose kernels NVRTC compiles."""
from case import case, main
import cases_cupy


@case
def elementwise():
    """arithmetic, functions, broadcasts, indexing"""
    cases_cupy.elementwise()


@case
def reductions():
    """sum, max, argmax, mean, var, any, cumsum, along axes and over all"""
    cases_cupy.reductions()


@case
def raw_module():
    """RawModule: templates, constants, two kernels"""
    cases_cupy.raw_module()


if __name__ == "__main__":
    main()
