# SPDX-License-Identifier: Apache-2.0
"""Cases that fail, each in its own way; the runner has to notice each. They use no framework."""
import ctypes
import os
import signal
import time

from case import case, close, main


@case
def right():
    """a comparison that holds"""
    close([1.0, [2.0, float("nan")], 1e30], [1.0, [2.0, float("nan")], 1.000001e30])


@case
def wrong():
    """one number of three is not the wanted one"""
    close([1.0, 2.5, 3.0], [1.0, 2.0, 3.0])


@case
def not_a_number():
    """a NaN where there should be a number"""
    close([float("nan")], [1.0])


@case
def too_few():
    """fewer numbers than wanted"""
    close([1.0], [1.0, 2.0])


@case
def nothing():
    """it compares nothing"""


@case
def raises():
    """an error of its own"""
    raise RuntimeError("as asked")


@case
def crashes():
    """it ends by a signal"""
    os.kill(os.getpid(), signal.SIGSEGV)


@case(seconds=2)
def hangs():
    """it does not end"""
    time.sleep(600)


def call_unsupported():
    cuda = ctypes.CDLL("libcuda.so.1")
    cuda.cuInit(0)
    cuda.cuImportExternalMemory(None, None)


@case
def refused():
    """it makes an unsupported driver call, and ends"""
    call_unsupported()
    raise RuntimeError("it cannot go on")


@case
def refused_and_wrong():
    """it makes an unsupported driver call, and then has wrong numbers"""
    call_unsupported()
    close([1.0], [2.0])


@case(jobs=2)
def differ():
    """two jobs side by side that print different sums"""
    close([1.0], [1.0])
    print(f"checksum {os.getpid()}", flush=True)


@case(jobs=2, lane="pack")
def agree():
    """two jobs side by side that print the same sum"""
    close([1.0], [1.0])
    print("checksum 7", flush=True)


if __name__ == "__main__":
    main()
