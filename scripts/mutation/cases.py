# SPDX-License-Identifier: Apache-2.0
"""Prints the tests of a source within its room's program, as a pattern for Criterion.

    python3 scripts/mutation/cases.py test/unit/proto/test_ring.c [PART]
"""

import re
import sys

TEST = re.compile(r"\b(?:Parameterized)?Test(?:Suite)?\((\w+),")  # a macro that makes tests as well


def pattern(source, part=""):
    """Cases of the source's suites whose name has the part in it."""
    with open(source) as f:
        suites = sorted(set(TEST.findall(f.read())))
    return f"@({'|'.join(suites)})/*{part}*"


if __name__ == "__main__":
    print(pattern(*sys.argv[1:]))
