# SPDX-License-Identifier: Apache-2.0
"""Binds libsalus-fluid.so (daemon/tune/salus_fluid.h) with ctypes: its structs, and the search for the file."""
import ctypes
import os

NAME = "libsalus-fluid.so.1"
EVEN = 0.0
WAITING, RUNNING, RESIZING = range(3)
JOIN, LEFT, END, DIED, SETTLED, GPU_CAME, GPU_GONE, TIME, KNOWN = range(9)
FRACTIONS, FILL, STATIC, DOWN_ANY, FIFO, ROOM = (1 << n for n in range(6))
U32, U64, I64, DOUBLE = ctypes.c_uint32, ctypes.c_uint64, ctypes.c_int64, ctypes.c_double


class Config(ctypes.Structure):
    _fields_ = [(n, U32) for n in ("gpus", "gpus_most", "trials_most", "packed_most", "spread_most", "flags")]
    _fields_ += [("change_ns", I64)]


class Event(ctypes.Structure):
    _fields_ = [("kind", U32), ("gpu", U32), ("id", U64), ("group", U64), ("left_ns", I64), ("alpha", DOUBLE),
                ("beta", DOUBLE), ("packed_most", U32), ("spread_most", U32)]


class Trial(ctypes.Structure):
    _fields_ = [("id", U64), ("group", U64), ("share", DOUBLE), ("part", DOUBLE), ("left_ns", I64), ("end_ns", I64)]
    _fields_ += [(n, U32) for n in ("state", "changed", "gpu_first", "gpu_count", "deaths", "reserved")]


class Refusal(ctypes.Structure):
    _fields_ = [("index", U32), ("fault", U32)]


class Plan(ctypes.Structure):
    _fields_ = [("trials", ctypes.POINTER(Trial)), ("gpus", ctypes.POINTER(U32)), ("refusals", ctypes.POINTER(Refusal)),
                ("count", U32), ("refused", U32), ("waiting", U32), ("idle", U32), ("resizes", U64), ("end_ns", I64)]


def places():
    """Returns the places to search, the most specific first."""
    here = os.path.dirname(os.path.abspath(__file__))
    tree = os.path.join(here, "..", "..", "..")  # the source tree of an editable installation
    found = [os.environ.get("SALUS_FLUID_LIBRARY")]
    found += [os.path.join(tree, os.environ.get("BUILD", "build"), "tune", NAME)]
    found += [os.path.join(prefix, "lib", "salus", NAME) for prefix in ("/usr/local", "/usr")]
    return [p for p in found if p]


def load():
    path = next((p for p in places() if os.path.exists(p)), NAME)
    try:
        lib = ctypes.CDLL(path)
    except OSError as why:
        raise OSError(f"{why}: install Fluid's library with `make install`, or set SALUS_FLUID_LIBRARY to its path") from None
    lib.salus_fluid_step.argtypes = [ctypes.c_void_p, I64, ctypes.POINTER(Event), U32, ctypes.POINTER(Plan)]
    lib.salus_fluid_create.argtypes = [ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(Config), ctypes.c_char_p, ctypes.c_size_t]
    lib.salus_fluid_destroy.argtypes = lib.salus_fluid_check.argtypes = [ctypes.c_void_p]
    lib.salus_fluid_destroy.restype = None
    lib.salus_fluid_check.restype = lib.salus_fluid_fault_text.restype = ctypes.c_char_p
    lib.salus_fluid_run_ns.argtypes = [DOUBLE] * 4
    lib.salus_fluid_benefit.argtypes = [U32, DOUBLE, DOUBLE]
    lib.salus_fluid_alpha.argtypes = lib.salus_fluid_beta.argtypes = [ctypes.POINTER(DOUBLE), U32]
    lib.salus_fluid_packed_most.argtypes = [ctypes.POINTER(DOUBLE), U32, DOUBLE]
    lib.salus_fluid_packed_most.restype = U32
    for name in ("run_ns", "benefit", "alpha", "beta"):
        getattr(lib, "salus_fluid_" + name).restype = DOUBLE
    return lib


def overhead(function, means):
    """Returns salus_fluid_alpha or _beta of the mean times with 1, 2, ... trials or GPUs."""
    return function((DOUBLE * len(means))(*means), len(means))
