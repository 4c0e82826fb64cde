# SPDX-License-Identifier: Apache-2.0
"""A test's result beyond its exit status: when an assertion of Criterion fails in a suite's .fini, Criterion prints it
but counts the test as passed."""
import re

FAILED = re.compile(r"^\[-+\] .*: Assertion Failed$", re.M)


def status(rc, out):
    """Returns rc, or why the run is no success."""
    return "an assertion failed when its test was over" if rc == 0 and FAILED.search(out) else rc
