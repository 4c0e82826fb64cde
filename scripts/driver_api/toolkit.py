# SPDX-License-Identifier: Apache-2.0
"""Compares the spec with the headers and the stub library of an installed CUDA toolkit."""

import os
import re
import subprocess


def check_toolkit(spec, toolkit):
    """Every function of cuda.h, every export of the stub library and every versioned typedef must
    be in the spec. The spec must have no others, except those newer than the toolkit."""
    include = os.path.join(toolkit, "include")
    text = ""
    for header in ("cuda.h", "cudaProfiler.h"):
        text += open(os.path.join(include, header), encoding="utf-8", errors="replace").read()
    version = int(re.search(r"^#define CUDA_VERSION (\d+)", text, re.M).group(1))
    calls = [c for c in spec.calls if c.since <= version]
    bases = {c.base for c in calls}
    for name in sorted(
        set(re.findall(r"^\s*CUresult\s+(?:CUDAAPI\s+)?(cu[A-Z]\w*)\s*\(", text, re.M))
    ):
        if name not in spec.by_export and name not in bases:
            spec.error(1, f"cuda.h declares {name}, which has no record")
    check_stub(spec, calls, os.path.join(toolkit, "lib64/stubs/libcuda.so"))
    check_newest(spec, calls, text)
    check_typedefs(spec, calls, include)


def check_stub(spec, calls, stub):
    if not os.path.exists(stub):
        return
    nm = subprocess.run(
        ["nm", "-D", "--defined-only", stub], check=True, capture_output=True, text=True
    )
    exports = {line.split()[-1] for line in nm.stdout.splitlines() if line.split()}
    for name in sorted(exports - spec.by_export.keys()):
        spec.error(1, f"the stub library exports {name}, which has no record")
    for name in sorted({c.export for c in calls} - exports):
        spec.error(spec.by_export[name].line, f"{name} is not an export of the stub library")


def check_newest(spec, calls, text):
    """cuda.h maps each base name onto its newest export."""
    newest = {}
    for c in calls:
        if not c.twin_of and (c.base not in newest or newest[c.base].since < c.since):
            newest[c.base] = c
    pattern = r"^#define (cu[A-Z]\w*)\s+(?:__CUDA_API_PT[DS][SZ]\()?(cu\w+)\)?\s*$"
    for name, export in re.findall(pattern, text, re.M):
        # The WithFlags version has a base name of its own; cuda.h never maps to _v3, which only
        # programs that name it use.
        if name in ("cuGraphInstantiate", "cuGraphAddNode"):
            continue
        if name in newest and newest[name].export != export:
            spec.error(
                newest[name].line,
                f"cuda.h maps {name} onto {export}, the spec onto {newest[name].export}",
            )


def check_typedefs(spec, calls, include):
    text = ""
    for header in ("cudaTypedefs.h", "cudaProfilerTypedefs.h"):
        text += open(os.path.join(include, header), encoding="utf-8", errors="replace").read()
    known = set()
    for name, version, variant in re.findall(r"PFN_(cu\w+?)_v(\d+)(?:_(pt[ds][sz]))?\)", text):
        known.add((name, int(version), variant or None))
    rows = {(c.base, c.since, c.variant): c for c in calls}
    for name, version, variant in sorted(known - rows.keys(), key=str):
        spec.error(1, f"no record answers to the typedef {name} {version} {variant or ''}")
    typed = {name for name, _, _ in known}
    for key in sorted(rows.keys() - known, key=str):
        if key[0] in typed:
            spec.error(
                rows[key].line, f"{rows[key].export} claims version {key[1]}, which no typedef has"
            )
