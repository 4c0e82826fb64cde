# SPDX-License-Identifier: Apache-2.0
"""Describes this machine without installing anything, and without expecting any tool."""
import ctypes
import os
import platform
import shutil
import subprocess
import sys

# Run in a process of its own: the driver may hang or crash, and must not be loaded here when we fork.
LOOK_FOR_GPU = """
import ctypes
cu = ctypes.CDLL("libcuda.so.1")
n, v = ctypes.c_int(0), ctypes.c_int(0)
r = cu.cuInit(0)
cu.cuDeviceGetCount(ctypes.byref(n))
cu.cuDriverGetVersion(ctypes.byref(v))
print(r, n.value, v.value)
"""


def said(*argv, seconds=20):
    """Returns the output of a command; "" when the command does not exist."""
    try:
        return subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
                              text=True, errors="replace", timeout=seconds, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""


def content(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as f:
            return f.read()
    except OSError:
        return ""


# Driver folders that the loader does not search.
DRIVER_FOLDERS = ["/usr/local/nvidia/lib64", "/usr/local/nvidia/lib", "/usr/lib/x86_64-linux-gnu", "/usr/lib64",
                  "/usr/lib/wsl/lib"]


def find_driver():
    """Makes programs started from here on find the driver, if there is one."""
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        for folder in DRIVER_FOLDERS:
            if os.path.exists(os.path.join(folder, "libcuda.so.1")):
                have = os.environ.get("LD_LIBRARY_PATH")
                os.environ["LD_LIBRARY_PATH"] = (have + ":" if have else "") + folder
                return


def gpu():
    """Returns {count, driver}; None: no driver, or one that does not start."""
    answer = said(sys.executable, "-c", LOOK_FOR_GPU, seconds=120).split()
    if len(answer) != 3 or answer[0] != "0" or answer[1] == "0":
        return None
    return {"count": int(answer[1]), "driver_api": int(answer[2])}


def version_of(module):
    return said(sys.executable, "-c", f"import {module}; print({module}.__version__)", seconds=120)


def facts():
    cpu = next((line.split(":", 1)[1].strip() for line in content("/proc/cpuinfo").splitlines()
                if line.startswith("model name")), "")
    memory = next((line.split()[1] for line in content("/proc/meminfo").splitlines()
                   if line.startswith("MemTotal")), "0")
    query = "name,driver_version,memory.total,pstate,clocks.sm,clocks.mem,compute_mode,mig.mode.current"
    return {"kernel": platform.release(), "machine": platform.machine(), "python": platform.python_version(),
            "libc": " ".join(platform.libc_ver()), "cpu": cpu, "cpus": len(os.sched_getaffinity(0)),
            "memory_mib": int(memory) // 1024, "root": os.geteuid() == 0,
            "nvidia_smi": said("nvidia-smi", f"--query-gpu={query}", "--format=csv,noheader"),
            "mps": shutil.which("nvidia-cuda-mps-control") or "", "nvcc": shutil.which("nvcc") or "",
            "gcc": shutil.which("gcc") or "", "make": shutil.which("make") or "", "torch": version_of("torch"),
            "loadavg": content("/proc/loadavg").strip()}
