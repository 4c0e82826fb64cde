#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests CUDA runtimes from 11.8 to the newest, as the Python package registry has them, and two profiling readers from
there: all compute the same.

    test/e2e/results/run_runtimes.py [--list] [NAME-PART...]

Needs `make e2e-programs`. If the packages (wheels.txt, 30 MB, once) cannot be downloaded, all tests are counted as
skipped.
"""
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import wheels
from harness import BUILD, PATIENCE, Daemon, checksum_of, program, run_tests

RUNTIMES = [n for n in wheels.read() if "-runtime" in n]
PROGRAMS = ["vecadd", "matmul", "train"]


def require(condition, what):
    if not condition:
        raise AssertionError(what)


def version_of(name):
    """Returns the number of a version: 11.8.89 is 11080."""
    major, minor = name.rsplit("-", 1)[1].split(".")[:2]
    return int(major) * 1000 + int(minor) * 10


def of_major(major):
    return [n for n in RUNTIMES if version_of(n) // 1000 == major]


def environment_of(name):
    """Returns an environment with the package's libraries before all others."""
    return {"LD_LIBRARY_PATH": os.path.dirname(wheels.find(name, "libcudart.so.*"))}


def run(d, argv, **env):
    """Runs a program with `env` extended by the library path of the daemon's jobs."""
    mine = d.environment()
    if "LD_LIBRARY_PATH" in env:
        env["LD_LIBRARY_PATH"] += ":" + mine["LD_LIBRARY_PATH"]
    return subprocess.run(argv, env={**mine, **env}, text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE)


# ---- shared --------------------------------------------------------------------------------------

def test_each_runtime_gives_the_same():
    """A program that registers its kernels itself, so that it needs no compiler of that version."""
    reader, image = (os.path.join(BUILD, p) for p in ("test/e2e/runtime", "e2e/runtime.fatbin"))
    sums = {}
    with Daemon() as d:
        for name in RUNTIMES:
            done = run(d, [reader, wheels.find(name, "libcudart.so.*"), image])
            sums[name] = checksum_of(done, d)
            version = int(re.search(r"^version (\d+)$", done.stdout, re.M).group(1))
            require(version == version_of(name), f"{name} calls itself {version}")
            require(done.stderr == "", f"{name}: {done.stderr}")
    require(len(set(sums.values())) == 1, f"different results: {sums}")


def test_compiled_programs_run_with_each_runtime_of_their_major():
    with Daemon() as d:
        want = {p: d.checksum([program(p)]) for p in PROGRAMS}
        for name in of_major(13):
            for p in PROGRAMS:
                done = run(d, [program(p, "default-shared")], **environment_of(name))
                require(checksum_of(done, d) == want[p], f"{p} with {name}")


# ---- static --------------------------------------------------------------------------------------

def link(name, source):
    """Links an object of our compiler with the static runtime of a package."""
    out = os.path.join(BUILD, "e2e", "static-" + name.rsplit("-", 1)[1], source)
    os.makedirs(os.path.dirname(out), exist_ok=True)
    subprocess.run(["g++", "-o", out, os.path.join(BUILD, "e2e", "objects", source + ".o"),
                    wheels.find(name, "libcudart_static.a"), "-ldl", "-lrt", "-lpthread"],
                   check=True)
    return out


def test_compiled_programs_run_with_each_static_runtime():
    with Daemon() as d:
        want = d.checksum([program("train")])
        for name in of_major(13):
            done = run(d, [link(name, "train")])
            require(checksum_of(done, d) == want, f"train with {name}")


# ---- readers -------------------------------------------------------------------------------------

CUPTI = """
import ctypes, sys
cuda, cupti = ctypes.CDLL("libcuda.so.1"), ctypes.CDLL(sys.argv[1])
version = ctypes.c_uint()
assert cuda.cuInit(0) == 0
print(cupti.cuptiGetVersion(ctypes.byref(version)), version.value, flush=True)
if sys.argv[2:]:
    print(cupti.cuptiActivityEnable(3) != 0, ctypes.CDLL(None).cuptiActivityEnable(3))
"""


def test_cupti_says_its_version_and_salus_that_it_does_not_trace():
    """Functions looked up in NVIDIA's library are NVIDIA's; the linker finds ours, which traces."""
    with Daemon() as d:
        library = wheels.find("nvidia-cuda-cupti-13.5.25", "libcupti.so.*")
        done = run(d, [sys.executable, "-c", CUPTI, library])
        require((done.stdout, done.stderr) == ("0 130500\n", ""), done.stdout + done.stderr)
        done = run(d, [sys.executable, "-c", CUPTI, library, "trace"])
        require(done.stdout == "0 130500\nTrue 0\n", done.stdout + done.stderr)
        require(done.stderr.count("\n") == 1 and "bypasses Salus's CUPTI" in done.stderr, done.stderr)


PYNVML = """
import os, pynvml as n
n.nvmlInit()
h = n.nvmlDeviceGetHandleByIndex(0)
assert n.nvmlDeviceGetHandleByPciBusId(n.nvmlDeviceGetPciInfo(h).busId)
assert n.nvmlDeviceGetHandleByUUID(n.nvmlDeviceGetUUID(h))
memory = n.nvmlDeviceGetMemoryInfo(h, version=n.nvmlMemory_v2)
assert memory.total == memory.free + memory.used
try:
    n.nvmlDeviceGetTemperature(h, n.NVML_TEMPERATURE_GPU)
except n.NVMLError_NotSupported:
    print(n.nvmlDeviceGetName(h), n.nvmlSystemGetDriverVersion(), memory.used,
          [(p.pid, p.usedGpuMemory) for p in n.nvmlDeviceGetComputeRunningProcesses(h)],
          n.nvmlDeviceGetUtilizationRates(h).memory)
n.nvmlShutdown()
"""


def test_pynvml_reads():
    folder = os.path.dirname(wheels.find("nvidia-ml-py-13.615.71", "pynvml.py"))
    with Daemon() as d:
        done = run(d, [sys.executable, "-c", PYNVML], PYTHONPATH=folder)
        require(done.stdout == "Salus software GPU 580.65.06 0 [] 0\n", done.stdout + done.stderr)


def main():
    try:
        wheels.fetch()
    except wheels.Skipped as why:
        print(f"SKIPPED runtimes: {why}; skipped: all")
        return 0
    return run_tests(globals())


if __name__ == "__main__":
    sys.exit(main())
