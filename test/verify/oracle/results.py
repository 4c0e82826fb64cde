# SPDX-License-Identifier: Apache-2.0
"""Reads the forms and the records that oracle_run wrote."""
import array
import collections
import gzip
import os
import struct

import form

STATUS = ("words", "same", "refused", "failed", "died")
Record = collections.namedtuple("Record", "status error sum words")
CODES = {1: "B", 2: "H", 4: "I", 8: "Q"}


class Listed:
    """A line of forms.txt."""
    def __init__(self, line):
        number, module, threads, at, read, written, types, self.name = line.rstrip("\n").split(" ", 7)
        self.index, self.module, self.threads, self.at, self.written = (int(x) for x in (number, module, threads, at, written))
        outs, ins = types.split("<")
        self.outs = outs.split(",")
        self.ins = [tuple(x.split(":")) for x in ins.split(",") if x]


def columns(blob, sizes, threads):
    """Values of each operand, one list per column."""
    found, at = [], 0
    for size in sizes:
        raw = blob[at:at + size * threads]
        if size == 16:
            found.append([int.from_bytes(raw[i:i + 16], "little") for i in range(0, len(raw), 16)])
        else:
            found.append(array.array(CODES[size], raw))
        at += size * threads
    return found


class Folder:
    def __init__(self, folder):
        with open(os.path.join(folder, "forms.txt")) as f:
            self.forms = [Listed(line) for line in f]
        with open(os.path.join(folder, "inputs.bin"), "rb") as f:
            self.inputs = f.read()

    def inputs_of(self, listed):
        sizes = [form.size_of(k) for _, k in listed.ins]
        return columns(self.inputs[listed.at:listed.at + sum(sizes) * listed.threads], sizes, listed.threads)


def outputs(listed, words):
    return columns(words, [form.out_size(t) for t in listed.outs], listed.threads)


def records(path):
    """Forms by number; the first one with a number counts."""
    found = {}
    with (gzip.open if path.endswith(".gz") else open)(path, "rb") as f:
        while head := f.read(32):
            number, status, error, _, total, size = struct.unpack("<4I2Q", head)
            found.setdefault(number, Record(STATUS[status], error, total, f.read(size)))
    return found
