# SPDX-License-Identifier: Apache-2.0
"""Packs the files for a machine that has a GPU and nothing else: programs built here, the libraries that they need and
that machine may lack, and the scripts that run them. The tree runs where it is unpacked."""
import glob
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

import device_check.machine as machine
from device_check.ways import ROOT, harness

LIMIT = 64 << 20
NAME = "salus-device-check"  # the folder in the archive
# an archive within the archive, with everything built; the first start unpacks it. Not xz: some Pythons lack it
PROGRAMS = "programs.tar.gz"
SCRIPTS = ["LICENSE", "scripts/device-check", "scripts/demo", "scripts/device_check/*.py", "scripts/find-nvcc", "scripts/device-probes/*",
           "scripts/device-probes/programs/*", "test/e2e/*/*.py", "test/data/random/*"]
BUILT = ["salusd", "salus-gpu", "salusctl", "shim/lib*.so*", "counted/libcuda.so.1", "device/*", "device/programs/*",
         "test/e2e/garbage_client", "test/e2e/nvml_reader", "test/e2e/driver_worker", "test/random/job", "e2e/*-*/*",
         "e2e/linked/*"]
NEEDED = ["salusd", "salus-gpu", "salusctl", "shim/libcuda.so.1", "device/sandbox", "device/programs/launch"]
# Not packed: the machine's C library, and the libraries that its compilers and frameworks bring.
OF_THE_MACHINE = re.compile(r"^(linux-vdso|ld-linux|lib(c|m|dl|rt|pthread|resolv|stdc\+\+|gcc_s|asan|ubsan|tsan)\.so)")


def libraries(programs):
    """Returns {name: path} of the shared libraries to pack, as the loader here finds them."""
    found = {}
    for program in programs:
        for line in machine.said("ldd", program).splitlines():
            m = re.match(r"\s*(\S+) => (/\S+)", line)
            if m and not OF_THE_MACHINE.match(m[1]):
                found[m[1]] = os.path.realpath(m[2])
    return found


def without_symbols(path, folder):
    """Returns a copy without the parts that only debuggers and linkers read; the file itself if stripping fails."""
    with open(path, "rb") as f:
        if f.read(4) != b"\x7fELF" or path.endswith((".o", ".a", ".cubin")) or not shutil.which("strip"):
            return path
    copy = os.path.join(folder, "stripped")
    done = subprocess.run(["strip", "--strip-unneeded", "-o", copy, path], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, check=False)
    return copy if done.returncode == 0 else path


def matching(folder, patterns):
    """Returns [(name, path)] of files and links, without a compiler's intermediate files."""
    found = []
    for pattern in patterns:
        found += [(os.path.relpath(p, folder), p) for p in sorted(glob.glob(os.path.join(folder, pattern)))
                  if os.path.isfile(p) and not p.endswith(".d")]
    return found


def add(tar, name, path, folder):
    entry = tarfile.TarInfo(name)
    if os.path.islink(path) and "/" not in os.readlink(path):
        entry.type, entry.linkname = tarfile.SYMTYPE, os.readlink(path)
        tar.addfile(entry)
        return
    source = without_symbols(path, folder)
    entry.size, entry.mode = os.path.getsize(source), 0o755 if os.access(path, os.X_OK) else 0o644
    with open(source, "rb") as f:
        tar.addfile(entry, f)


def programs(path, folder):
    """All build results, compressed because they would not fit otherwise."""
    with tarfile.open(path, "w:gz", compresslevel=5) as tar:
        for name, source in matching(harness.BUILD, BUILT):
            add(tar, os.path.join("build", name), source, folder)
        for name, source in matching(ROOT, ["build/data/random/*"]):
            add(tar, name, source, folder)
        tools = [harness.tool(n) for n in ("salusd", "salus-gpu", "salusctl")]
        for name, source in sorted(libraries(tools).items()):
            add(tar, os.path.join("lib", name), source, folder)


def write(path, limit=LIMIT):
    """Writes the archive and returns the exit status. The limit applies to the archive, which is larger than the tree
    in it."""
    lacking = [n for n in NEEDED if not os.path.exists(os.path.join(harness.BUILD, n))]
    if lacking:
        print(f"device-check: not built: {', '.join(lacking)}: make device-pack", file=sys.stderr)
        return 2
    commit = (machine.said("git", "-C", ROOT, "describe", "--always", "--dirty") or "unknown").encode() + b"\n"
    with tempfile.TemporaryDirectory() as folder:
        built = os.path.join(folder, PROGRAMS)
        programs(built, folder)
        with tarfile.open(path, "w") as tar:
            entry = tarfile.TarInfo(f"{NAME}/PACKED")
            entry.size = len(commit)
            tar.addfile(entry, io.BytesIO(commit))
            for name, source in [(PROGRAMS, built)] + matching(ROOT, SCRIPTS):
                add(tar, f"{NAME}/{name}", source, folder)
    size = os.path.getsize(path)
    if size > limit:
        os.unlink(path)
        print(f"device-check: {size / (1 << 20):.1f} MiB do not travel: {limit >> 20} MiB is all that may", file=sys.stderr)
        return 1
    print(f"device-check: {path}: {size / (1 << 20):.1f} MiB")
    return 0


def unpack(root):
    """Unpacks the archive of write() into the tree, once: completely or not at all."""
    archive, done = os.path.join(root, PROGRAMS), os.path.join(root, "build")
    if not os.path.exists(archive) or os.path.exists(done):
        return
    with tempfile.TemporaryDirectory(dir=root) as folder:
        with tarfile.open(archive, "r:gz") as tar:
            tar.extractall(folder)  # the archive is our own
        shutil.rmtree(os.path.join(root, "lib"), ignore_errors=True)
        os.rename(os.path.join(folder, "lib"), os.path.join(root, "lib"))
        os.rename(os.path.join(folder, "build"), done)
