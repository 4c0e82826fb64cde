# SPDX-License-Identifier: Apache-2.0
"""Checksums of hardware results, one per form: test/data/oracle/h200.txt.

A line is the form's key, 16 digits of a hash of its kernel and its inputs' description, and the checksum of its
results (FNV-1a in run.c)."""
import hashlib
import re

import form


def key(f):
    """The form's key: another kernel or other inputs give another key."""
    text = f"{name(f)}{form.kernel(f, 0, form.BLOCK)}{f.kinds()}{f.tuples}{f.target}"
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def name(f):
    return re.sub(r"\s+", " ", f.name)


def read(path):
    with open(path) as f:
        lines = [line.split() for line in f if not line.startswith("#")]
    return {k: int(s, 16) for k, s in lines}


def write(path, forms, sums, about):
    with open(path, "w") as f:
        f.write("".join(f"# {line}\n" for line in about))
        f.writelines(f"{key(x)} {sums[n]:016x}\n" for n, x in enumerate(forms) if n in sums)
