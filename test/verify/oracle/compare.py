#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the results of hardware with those of the software GPU, form by form.

    compare.py [--first N] FOLDER HARDWARE SOFTWARE    prints which forms differ, where and by how much
    compare.py --expect FOLDER SOFTWARE                writes the software's sums to FOLDER/expected.bin, so that a
                                                       run stores only results that differ

HARDWARE and SOFTWARE are files that oracle_run wrote, gzipped or not.
"""
import argparse
import array
import collections
import os
import struct
import sys

import form
import results

# Bits, the pattern of infinity (NaNs are above it), and struct formats of each float type.
FLOATS = {"f32": (32, 0x7f800000, "<I", "<f"), "f64": (64, 0x7ff << 52, "<Q", "<d"), "f16": (16, 0x7c00, "<H", "<e"),
          "bf16": (16, 0x7f80, None, None)}
HALVES = {"f16x2": "f16", "bf16x2": "bf16"}
KIND_FLOATS = {"f": "f32", "mf": "f32", "mtf": "f32", "d": "f64", "md": "f64", "h": "f16", "bh": "bf16", "h2": "f16x2", "mh2": "f16x2",
               "bh2": "bf16x2", "mbh2": "bf16x2"}


def is_nan(bits, t):
    width, infinity = FLOATS[t][:2]
    return bits & (1 << width - 1) - 1 > infinity


def ordered(bits, t):
    """Floats as integers in the order of their values."""
    top = 1 << FLOATS[t][0] - 1
    return -(bits - top) if bits >= top else bits


def number(bits, t):
    if t == "bf16":
        bits, t = bits << 16, "f32"
    if t in FLOATS:
        return f"{struct.unpack(FLOATS[t][3], struct.pack(FLOATS[t][2], bits))[0]!r}"
    return str(bits - (1 << int(t[1:])) if t[0] == "s" and bits >> int(t[1:]) - 1 else bits)


def shown(bits, t, size):
    text = f"{bits:#0{2 * size + 2}x}"
    if t in HALVES:
        return f"{text} ({number(bits & 0xffff, HALVES[t])}, {number(bits >> 16, HALVES[t])})"
    return f"{text} ({number(bits, t)})" if t in FLOATS or t[0] in "us" else text


def meaning(t, opcode):
    """The numeric type of a result: for a register type without one, derived from the opcode."""
    if t[0] == "b" and t not in FLOATS and t not in HALVES:
        for word in opcode.split(".")[1:]:
            if word in FLOATS and FLOATS[word][0] == int(t[1:]) or word in HALVES and t == "b32":
                return word
    return t


def scalars(bits, t):
    return [(bits & 0xffff, HALVES[t]), (bits >> 16, HALVES[t])] if t in HALVES else [(bits, t)]


def only_nans(a, b, t):
    """True if two floats, or pairs of floats, differ only in the bits of NaNs."""
    return all(x == y or is_nan(x, s) and is_nan(y, s) for (x, s), (y, _) in zip(scalars(a, t), scalars(b, t)))


def distance(a, b, t):
    """Number of floats between two floats, the larger one of a pair; None where only one is a NaN."""
    most = 0
    for (x, s), (y, _) in zip(scalars(a, t), scalars(b, t)):
        if is_nan(x, s) != is_nan(y, s):
            return None
        if not is_nan(x, s):
            most = max(most, abs(ordered(x, s) - ordered(y, s)))
    return most


class Difference:
    """The differences of one form: where both differ, and how."""
    def __init__(self, listed, hard, soft):
        self.listed = listed
        self.types = [meaning(t, listed.name.split(" ")[0]) for t in listed.outs]
        self.hard, self.soft = results.outputs(listed, hard), results.outputs(listed, soft)
        self.rows, self.nan_rows, self.ulps, self.apart = [], [], collections.Counter(), 0
        bad = set()
        for n, (a, b) in enumerate(zip(self.hard, self.soft)):
            if a != b:
                bad |= {i for i in range(listed.threads) if a[i] != b[i]}
        for i in sorted(bad):
            self._classify(i)

    def _classify(self, i):
        cells = [(a[i], b[i], t) for a, b, t in zip(self.hard, self.soft, self.types) if a[i] != b[i]]
        if all((t in FLOATS or t in HALVES) and only_nans(a, b, t) for a, b, t in cells):
            self.nan_rows.append(i)
            return
        self.rows.append(i)
        for a, b, t in cells:
            if t in FLOATS or t in HALVES:
                d = distance(a, b, t)
                if d is None:
                    self.apart += 1
                else:
                    self.ulps[d] += 1

    def summary(self):
        f = self.listed
        parts = [f"{len(self.rows)} of {f.threads} differ"] if self.rows else []
        if self.nan_rows:
            parts.append(f"{len(self.nan_rows)} in NaN bits only")
        if self.ulps:
            parts.append(f"ulp max {max(self.ulps)}, median {sorted(self.ulps.elements())[sum(self.ulps.values()) // 2]}")
        if self.apart:
            parts.append(f"{self.apart} NaN against number")
        return f"{f.name}: {', '.join(parts)}"

    def examples(self, folder, most):
        columns = folder.inputs_of(self.listed)
        for i in (self.rows or self.nan_rows)[:most]:
            ins = ", ".join(shown(c[i], KIND_FLOATS.get(k, t), form.size_of(k))
                            for c, (t, k) in list(zip(columns, self.listed.ins))[:9])
            outs = "; ".join(f"{shown(a[i], t, form.out_size(o))} not {shown(b[i], t, form.out_size(o))}"
                             for a, b, t, o in zip(self.hard, self.soft, self.types, self.listed.outs) if a[i] != b[i])
            yield f"    [{i}] {ins} -> hardware {outs}"


def compare(options):
    folder = results.Folder(options.folder)
    hard, soft = results.records(options.hardware), results.records(options.software)
    counts, differences = collections.Counter(), []
    for f in folder.forms:
        a, b = hard.get(f.index), soft.get(f.index)
        if not a or not b:
            counts["missing"] += 1
            print(f"missing: {f.name}")
        elif a.sum == b.sum and a.sum:
            counts["equal"] += 1
        elif not a.words or not b.words:
            counts[f"hardware {a.status}, software {b.status}"] += 1
            print(f"hardware {a.status} ({a.error}), software {b.status} ({b.error}): {f.name}")
        else:
            differences.append(Difference(f, a.words, b.words))
    for d in differences:
        counts["differ" if d.rows else "differ in NaN bits only"] += 1
        print(d.summary())
        for line in d.examples(folder, options.first):
            print(line)
    print(f"{len(folder.forms)} forms: " + ", ".join(f"{n} {what}" for what, n in sorted(counts.items())))
    return 1 if counts.keys() - {"equal"} else 0


def expect(options):
    soft = results.records(options.hardware)
    sums = array.array("Q", [soft[n].sum if n in soft else 0 for n in range(max(soft) + 1)])
    with open(os.path.join(options.folder, "expected.bin"), "wb") as f:
        f.write(sums.tobytes())
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--expect", action="store_true")
    parser.add_argument("--first", type=int, default=3)
    parser.add_argument("folder")
    parser.add_argument("hardware")
    parser.add_argument("software", nargs="?")
    options = parser.parse_args()
    return expect(options) if options.expect else compare(options)


if __name__ == "__main__":
    sys.exit(main())
