#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the input of oracle_run, which runs on a GPU and on the software GPU: modules of many kernels, their
inputs, and a list of both.

    pack.py FOLDER

FOLDER/forms.txt has a line for each form: number, module, threads, offset of its inputs, bytes of results, name.
FOLDER/inputs.bin has the inputs of all forms. FOLDER/mNNN.ptx are modules, in which "//form N" begins a kernel.
FOLDER/refused.txt lists the forms that ptxas rejects for sm_90.
"""
import array
import os
import re
import subprocess
import sys
import tempfile

import table
import table_group
import table_matrix
import table_memory
import values
from form import BLOCK, kernel, out_size, size_of

HEADER = ".version 9.0\n.target {}\n.address_size 64\n"
IN_MODULE = 160  # forms in a module
PARTS = (table.of_table, table.integers, table.bits, table.floats, table.comparisons, table.conversions, table.video,
         table.carries, table_memory.atomics, table_memory.accesses, table_memory.warps, table_matrix.dense,
         table_matrix.sparse, table_matrix.fragments, table_matrix.moved, table_group.groups)
CODES = {1: "B", 2: "H", 4: "I", 8: "Q"}


def all_forms():
    """All forms, without repetitions of the same kernel text."""
    seen, found = set(), []
    for part in PARTS:
        for form in part():
            key = (form.body, tuple(form.outs), tuple(form.ins))
            if key not in seen:
                seen.add(key)
                found.append(form)
    return found


def packed(column, size):
    if size == 16:
        return b"".join(v.to_bytes(16, "little") for v in column)
    return array.array(CODES[size], column).tobytes()


class Inputs:
    """Writes the inputs of each list of kinds once."""
    def __init__(self):
        self.at, self.blob = {}, bytearray()

    def of(self, form):
        key = (form.kinds(), form.tuples)
        if key not in self.at:
            columns = values.columns(form.kinds(), form.tuples)
            threads = len(columns[0]) if columns else BLOCK
            self.at[key] = (len(self.blob), threads)
            for column, kind in zip(columns, form.kinds()):
                self.blob += packed(column, size_of(kind))
            self.blob += bytes(-len(self.blob) % 256)
        return self.at[key]


def ptxas_errors(texts, target, ptxas):
    """Numbers of the kernels that ptxas rejects, with its messages. ptxas may stop before it has seen all kernels."""
    with tempfile.NamedTemporaryFile("w", suffix=".ptx") as f:
        line, begins = 4, []
        f.write(HEADER.format(target))
        for n, text in texts:
            begins.append((line, n))
            f.write(text)
            line += text.count("\n")
        f.flush()
        done = subprocess.run([ptxas, "-arch=" + target, "-O1", "-o", "/dev/null", f.name], text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
    bad = {}
    for m in re.finditer(r"line (\d+); error\s*: (.*)", done.stdout):
        n = [n for at, n in begins if at <= int(m.group(1))][-1]
        bad.setdefault(n, m.group(2))
    if done.returncode and not bad:
        if len(texts) == 1:
            return {texts[0][0]: done.stdout[:300]}
        half = len(texts) // 2
        return {**ptxas_errors(texts[:half], target, ptxas), **ptxas_errors(texts[half:], target, ptxas)}
    return bad


def in_modules(forms):
    """Groups forms into modules with one target each."""
    modules = []
    for f in forms:
        if not modules or len(modules[-1]) == IN_MODULE or modules[-1][0].target != f.target:
            modules.append([])
        modules[-1].append(f)
    return modules


def accepted(forms, ptxas):
    """Splits forms into accepted and rejected ones, the latter with ptxas's message."""
    taken, refused = [], []
    for module in in_modules(forms):
        left, bad = [(n, kernel(f, n, BLOCK)) for n, f in enumerate(module)], None
        while left and bad != {}:
            bad = ptxas_errors(left, module[0].target, ptxas)
            refused += [(module[n].name, why) for n, why in sorted(bad.items())]
            left = [x for x in left if x[0] not in bad]
        taken += [module[n] for n, _ in left]
    return taken, refused


def line(number, module, form, at, threads):
    written = sum(out_size(t) for t in form.outs) * threads
    types = ",".join(form.outs) + "<" + ",".join(f"{t}:{k}" for t, k in form.ins)
    read = sum(size_of(k) for k in form.kinds()) * threads
    name = re.sub(r"\s+", " ", form.name)
    return f"{number} {module} {threads} {at} {read} {written} {types} {name}\n"


def write(folder, forms):
    inputs, lines = Inputs(), []
    modules = in_modules(forms)
    for m, module in enumerate(modules):
        with open(os.path.join(folder, f"m{m:03}.ptx"), "w") as f:
            f.write(HEADER.format(module[0].target))
            for form in module:
                at, threads = inputs.of(form)
                f.write(f"//form {len(lines)}\n" + kernel(form, len(lines), threads))
                lines.append(line(len(lines), m, form, at, threads))
    with open(os.path.join(folder, "forms.txt"), "w") as f:
        f.write("".join(lines))
    with open(os.path.join(folder, "inputs.bin"), "wb") as f:
        f.write(inputs.blob)
    return len(modules), len(inputs.blob)


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    forms = all_forms()
    print(f"{len(forms)} forms")
    forms, refused = accepted(forms, os.environ.get("PTXAS", "/usr/local/cuda/bin/ptxas"))
    with open(os.path.join(folder, "refused.txt"), "w") as f:
        f.write("".join(f"{name}: {why}\n" for name, why in refused))
    modules, size = write(folder, forms)
    print(f"{len(forms)} taken, {len(refused)} refused, {modules} modules, {size} bytes of inputs")


if __name__ == "__main__":
    main()
