# SPDX-License-Identifier: Apache-2.0
"""Prints a pattern for Criterion that selects the tests of one source in its room's program.

    python3 scripts/mutation/cases.py test/unit/proto/test_ring.c [PART]
"""

import re
import sys

TEST = re.compile(r"\b(?:Parameterized)?Test(?:Suite)?\((\w+),")  # a macro that makes tests as well


def pattern(source, part=""):
    """Returns the cases of the source's suites that have the part in their name."""
    with open(source) as f:
        suites = sorted(set(TEST.findall(f.read())))
    return f"@({'|'.join(suites)})/*{part}*"


if __name__ == "__main__":
    print(pattern(*sys.argv[1:]))
