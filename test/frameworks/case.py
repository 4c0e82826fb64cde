# SPDX-License-Identifier: Apache-2.0
"""The parts of a list of cases, which imports this module. Imports only the standard library, for
each framework's environment.

A case is a function that computes on the GPU and compares with the CPU:

    @case
    def matmul():
        '''float32 matrices'''
        close(cupy.asnumpy(a @ b), want, 1e-5)

    python cases_cupy.py matmul

Exit status: RIGHT, WRONG (a comparison failed), or any other when the case did not reach its end. The
runner reads the functions' names, first lines and the decorator's arguments from the source:
    capability   of the device that is reported to it, in place of the framework's
    seconds      time limit; more with SALUS_TEST_PATIENCE
    jobs         how many of it run side by side, each of which must be right and print the same
    lane         the lane policy that is in effect meanwhile
    env          variables, as a user would set them
    daemon       options of salusd
"""
import math
import sys

RIGHT, WRONG = 0, 3

_cases = {}
_seen = {"values": 0, "worst": 0.0}


class Wrong(Exception):
    """Raised when a comparison fails."""


def case(function=None, **_settings):
    """Registers a function as a case; the settings are for the runner."""
    def register(f):
        _cases[f.__name__] = f
        return f
    return register(function) if function else register


def _flat(x):
    """Yields all numbers of an array, a list of lists or a number, in order."""
    if hasattr(x, "tolist"):
        x = x.tolist()
    if not isinstance(x, (list, tuple)):
        return [x]
    return [v for part in x for v in _flat(part)]


def _distance(got, want):
    """Returns the difference in units of max(1, |want|). Equal infinities do not differ, nor do two
    NaNs."""
    if got == want or (got != got and want != want):
        return 0.0
    d = abs(got - want) / max(1.0, abs(want))
    return d if d == d else math.inf


def close(got, want, tolerance=1e-5, what="values"):
    """Checks that each number is within `tolerance` times max(1, |want|) of the wanted one, and
    that there are as many."""
    got, want = _flat(got), _flat(want)
    if len(got) != len(want):
        raise Wrong(f"{what}: {len(got)} values, {len(want)} wanted")
    apart = [_distance(g, w) for g, w in zip(got, want)]
    worst = max(apart, default=0.0)
    _seen["values"] += len(got)
    _seen["worst"] = max(_seen["worst"], worst)
    if worst > tolerance:
        i = apart.index(worst)
        bad = sum(d > tolerance for d in apart)
        raise Wrong(f"{what}: {bad} of {len(got)} differ by more than {tolerance:g}; "
                    f"worst [{i}]: {got[i]!r}, wanted {want[i]!r}")


def equal(got, want, what="values"):
    """Checks that the numbers are exactly the same."""
    close(got, want, 0.0, what)


def holds(condition, what):
    """Checks a condition that is not a comparison of numbers."""
    _seen["values"] += 1
    if not condition:
        raise Wrong(what)


def _run(name):
    """Fails if the case compared nothing, for such a case proves nothing."""
    try:
        _cases[name]()
        holds(_seen["values"] > 0, "it compares nothing")
    except Wrong as why:
        print(f"wrong: {why}", file=sys.stderr, flush=True)
        return WRONG
    print(f"right: {_seen['values']} values, worst {_seen['worst']:.1e}", flush=True)
    return RIGHT


def main():
    """Runs the case that the command line names, or prints the names of all."""
    if len(sys.argv) != 2 or sys.argv[1] not in _cases:
        sys.exit(f"usage: {sys.argv[0]} {'|'.join(_cases)}")
    sys.exit(_run(sys.argv[1]))
