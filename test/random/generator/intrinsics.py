# SPDX-License-Identifier: Apache-2.0
"""The functions of intrinsics.h, read from their signatures there."""
import os
import re

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "language", "intrinsics.h")
SIGNATURE = re.compile(r"^FN (\w+) (\w+)\((.*)\) \{", re.M)
# Parts of other functions; from these, numbers could be signalling NaNs.
INNER = ("f32_raw", "f64_raw", "low24", "half_tidy")

# Functions that are chosen more often than at random, because only they yield such instructions.
OFTEN = ("guarded_", "jump_", "add96", "sub96", "fma_", "bfe_")


class Intrinsic:
    def __init__(self, type_, name, arguments):
        self.type = type_
        self.name = name
        self.arguments = [a.split()[0] for a in arguments.split(",")]


def read():
    with open(PATH) as f:
        found = [Intrinsic(*m) for m in SIGNATURE.findall(f.read())]
    return [i for i in found if i.name not in INNER]


INTRINSICS = [i for i in read() for _ in range(4 if i.name.startswith(OFTEN) else 1)]
