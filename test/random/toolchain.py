# SPDX-License-Identifier: Apache-2.0
"""Turns a program's text into the host's results, into PTX, and into the device's verdict."""
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BUILD = os.path.join(ROOT, os.environ.get("BUILD", "build"))
# The first build runs under a sanitizer; if the second gives another result, that is undefined behaviour too.
HOSTS = (("g++", "-O0", "-fsanitize=undefined,float-cast-overflow", "-fno-sanitize-recover"), ("g++", "-Og"))
HOST_FLAGS = ("-x", "c++", "-std=c++17", "-w", "-Wno-psabi", "-fno-strict-aliasing", "-ffp-contract=off", "-I", ROOT)
# name: nvcc's flags; contraction is off, because each compiler chooses differently.
VARIANTS = {
    "75": ("-O3", "-arch=compute_75"),
    "80": ("-O3", "-arch=compute_80"),
    "89": ("-O3", "-arch=compute_89"),
    "90": ("-O3", "-arch=compute_90"),
    "75-debug": ("-O0", "-G", "-arch=compute_75"),
    "90-debug": ("-O0", "-G", "-arch=compute_90"),
    "80-plain": ("-Xcicc", "-O0", "-arch=compute_80"),
    "86-lineinfo": ("-O3", "-lineinfo", "-arch=compute_86"),
}
DIFFERS = re.compile(r"^differs: .*", re.M)
PATIENCE = float(os.environ.get("SALUS_TEST_PATIENCE", "120")) * 5


class GeneratorFault(Exception):
    """The program itself is wrong: it does not compile, or its behaviour is undefined."""


def run(argv, **more):
    return subprocess.run(argv, text=True, errors="replace", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=PATIENCE, **more)


def nvcc():
    found = os.environ.get("NVCC") or run([os.path.join(ROOT, "scripts", "find-nvcc")]).stdout.strip()
    if not found:
        sys.exit("random: no nvcc: run `make setup`, or name one in NVCC")
    return found


NVCC = None


def target(variant):
    """Tells the host the architecture, and with it which instructions are missing."""
    return "-DTARGET=" + variant.split("-")[0]


def host_says(source, host, variant, dump=False):
    """The output of the program, built by one of HOSTS. With `dump`, results go to <source>.host."""
    program = f"{source}.{HOSTS.index(host)}"
    built = run([*host, *HOST_FLAGS, target(variant), "-o", program, source])
    if built.returncode:
        raise GeneratorFault(f"{source}: {' '.join(host)}: {built.stderr[:2000]}")
    done = run([program] + ([source + ".host"] if dump else []))
    os.unlink(program)
    if done.returncode:
        raise GeneratorFault(f"{source}: on the host, built by {' '.join(host)}: {done.stderr[:2000]}")
    return done.stdout


def reference(source, variant):
    """Checks the program by all host builds; returns the path of the expected results."""
    said = [host_says(source, host, variant) for host in HOSTS]
    if any(s != said[0] for s in said):
        raise GeneratorFault(f"{source}: two builds of the host differ: its meaning is not defined")
    return expect(source, said[0])


def expect(source, said):
    path = os.path.splitext(source)[0] + ".expected"
    with open(path, "w") as f:
        f.write(said)
    return path


def compile_image(source, variant, root=ROOT):
    """Compiles the program to PTX. Debug information names `root`."""
    global NVCC
    NVCC = NVCC or nvcc()
    path = f"{os.path.splitext(source)[0]}.{variant}.ptx"
    done = run([NVCC, "-w", "-std=c++17", "-fmad=false", *VARIANTS[variant], "-ptx", "-I", root, "-o", path, source],
               cwd=os.path.dirname(source))
    if done.returncode:
        raise GeneratorFault(f"{source}: nvcc {variant}: {done.stdout[:500]}{done.stderr[:1500]}")
    return path


def play(expected, image, *options):
    """Runs an image on the interpreter; returns the lines about differences, and the whole output."""
    done = run([os.path.join(BUILD, "test", "random", "play"), *options, expected, image])
    differs = DIFFERS.findall(done.stdout)
    if done.returncode and not differs:
        differs = [f"differs: play exits {done.returncode}: {image}: {done.stdout[-300:]}{done.stderr[-300:]}"]
    return differs, done.stdout


def first_difference(kernel, source, expected, image, variant, options):
    """Describes in words where the device's results differ from the host's."""
    host_says(source, HOSTS[1], variant, dump=True)
    play(expected, image, *options, "--dump", image + ".dump")
    with open(source + ".host", "rb") as f, open(image + ".dump", "rb") as g:
        want, got = f.read(), g.read()
    os.unlink(source + ".host")
    os.unlink(image + ".dump")
    for at in range(0, len(want), 8):
        if want[at:at + 8] != got[at:at + 8]:
            word = at // 8
            given = kernel.words * kernel.all_threads()
            where = (f"thread {word // kernel.words}, result {word % kernel.words}" if word < given
                     else f"word {word - given} of acc")
            return (f"{where}: {int.from_bytes(got[at:at + 8], 'little'):#x}, "
                    f"on the host {int.from_bytes(want[at:at + 8], 'little'):#x}")
    return "no result differs"
