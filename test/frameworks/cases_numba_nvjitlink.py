# SPDX-License-Identifier: Apache-2.0
"""Numba as pip installs it, with nvJitLink, which makes machine code."""
import numpy
from numba import cuda

from case import case, equal, main


@case
def vector_add():
    """a kernel"""
    @cuda.jit
    def add(a, b, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = a[i] + b[i]

    a = numpy.arange(1000.0)
    out = numpy.zeros(1000)
    add[8, 128](a, a, out)
    equal(out, a + a)


if __name__ == "__main__":
    main()
