#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests libsalus-fluid.so as other programs load it: with ctypes, and with structs made here from the header's text.
Runs the thesis's example (Fig. 3.5) and checks the exported symbols.

    test/tune/run_library.py      BUILD: the build folder that has it
"""
import ctypes
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
LIBRARY = os.path.join(os.environ.get("BUILD", "build"), "tune", "libsalus-fluid.so.1")
HEADER = os.path.join(HERE, "../../daemon/tune/salus_fluid.h")
S = 10**9
TYPES = {"uint32_t": ctypes.c_uint32, "uint64_t": ctypes.c_uint64, "int64_t": ctypes.c_int64, "double": ctypes.c_double}
failed = []


def expect(ok, text):
    if not ok:
        failed.append(text)
        print(f"library: failed: {text}", file=sys.stderr)


def struct(name, text, known):
    """Returns the header's struct of that name as a ctypes struct."""
    body = re.search(rf"struct {name} \{{(.*?)\n\}};", text, re.S)[1]
    fields = []
    for line in re.sub(r"/\*.*?\*/", "", body, flags=re.S).split(";"):
        line = " ".join(line.split())
        if not line:
            continue
        pointer = re.fullmatch(r"const (?:struct )?(\w+) \*(\w+)", line)
        if pointer:
            fields.append((pointer[2], ctypes.POINTER(known.get(pointer[1]) or TYPES[pointer[1]])))
            continue
        kind, names = line.split(" ", 1)
        fields += [(n.strip(), TYPES[kind]) for n in names.split(",")]
    known[name] = type(name, (ctypes.Structure,), {"_fields_": fields})
    return known[name]


def load():
    with open(HEADER) as f:
        text = f.read()
    known = {}
    for name in ("config", "event", "trial", "refusal", "plan"):
        struct(f"salus_fluid_{name}", text, known)
    fluid = ctypes.CDLL(LIBRARY)
    for name in ("run_ns", "benefit", "alpha", "beta"):
        getattr(fluid, f"salus_fluid_{name}").restype = ctypes.c_double
    fluid.salus_fluid_fault_text.restype = ctypes.c_char_p
    fluid.salus_fluid_check.restype = ctypes.c_char_p
    fluid.salus_fluid_step.argtypes = [ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p]
    fluid.salus_fluid_destroy.argtypes = fluid.salus_fluid_check.argtypes = [ctypes.c_void_p]
    return fluid, {k.replace("salus_fluid_", ""): v for k, v in known.items()}


def check_toy(fluid, kinds):
    f = ctypes.c_void_p()
    config = kinds["config"](gpus=5, packed_most=4, spread_most=5)
    expect(fluid.salus_fluid_create(ctypes.byref(f), ctypes.byref(config), None, ctypes.c_size_t(0)) == 0, "create")
    budgets = [4, 4, 12, 30, -1]
    events = (kinds["event"] * 5)(*(kinds["event"](id=i, group=1, left_ns=b * S, alpha=1, beta=1)
                                    for i, b in enumerate(budgets)))
    plan = kinds["plan"]()
    expect(fluid.salus_fluid_step(f, 0, events, 5, ctypes.byref(plan)) == 0, "step")
    expect((plan.count, plan.refused, plan.end_ns) == (4, 1, 12 * S), f"the plan: {plan.count} {plan.refused} {plan.end_ns}")
    expect(b"budget" in fluid.salus_fluid_fault_text(plan.refusals[0].fault), "the refusal's text")
    expect([plan.trials[i].share for i in range(4)] == [0.25, 0.25, 1, 3], "shares")
    expect(fluid.salus_fluid_check(f) is None, "the invariants")
    wide = plan.trials[3]
    gpus = {plan.gpus[wide.gpu_first + i] for i in range(wide.gpu_count)}
    expect(len(gpus) == 3 and gpus <= set(range(5)), f"the GPUs of the longest: {gpus}")
    fluid.salus_fluid_destroy(f)


def check_refusal(fluid, kinds):
    f, why = ctypes.c_void_p(), ctypes.create_string_buffer(160)
    config = kinds["config"](gpus=99999)
    err = fluid.salus_fluid_create(ctypes.byref(f), ctypes.byref(config), why, ctypes.c_size_t(160))
    expect(err == -22 and b"at most" in why.value and not f, f"a configuration that cannot be: {err} {why.value}")


def check_formulas(fluid):
    d = ctypes.c_double
    mean = (d * 4)(10, 11, 12, 40)
    expect(abs(fluid.salus_fluid_run_ns(d(100), d(0.5), d(1.3), d(1)) - 130) < 1e-9, "(3.2)")
    expect(fluid.salus_fluid_packed_most(mean, 4, d(0.1)) == 3, "(3.1)")
    expect(abs(fluid.salus_fluid_alpha(mean, 2) - 1.1) < 1e-9, "alpha")


def check_exports():
    out = subprocess.run(["nm", "-D", "--defined-only", LIBRARY], stdout=subprocess.PIPE, text=True, check=True).stdout
    names = {line.split()[-1] for line in out.splitlines()}
    with open(HEADER) as f:
        said = set(re.findall(r"\b(salus_fluid_\w+)\(", re.sub(r"/\*.*?\*/", "", f.read(), flags=re.S)))
    expect(names == said, f"exported, but not in the header, or the other way round: {names ^ said}")
    dynamic = subprocess.run(["readelf", "-d", LIBRARY], stdout=subprocess.PIPE, text=True, check=True).stdout
    expect("[libsalus-fluid.so.1]" in dynamic, "its soname")
    needed = set(re.findall(r"NEEDED.*\[(.*)\]", dynamic))
    expect(needed <= {"libc.so.6", "libm.so.6"}, f"it needs {needed}")


def main():
    fluid, kinds = load()
    check_toy(fluid, kinds)
    check_refusal(fluid, kinds)
    check_formulas(fluid)
    check_exports()
    if not failed:
        print("library: Fluid's library is loaded, plans, and exports what its header says")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
