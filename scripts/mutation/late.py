# SPDX-License-Identifier: Apache-2.0
"""The result of a test besides its exit status: an assertion of Criterion that fails in a suite's .fini is
printed, and the test counts as passed."""
import re

FAILED = re.compile(r"^\[-+\] .*: Assertion Failed$", re.M)


def status(rc, out):
    """rc, or why it is no success."""
    return "an assertion failed when its test was over" if rc == 0 and FAILED.search(out) else rc
