#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random programs on the device and on the host; see README.md beside this file.

    run_random.py emit SEED [--kernels N]            the source of a program
    run_random.py hunt [--seed S] [--files N]        new programs, in several variants, through the daemon
    run_random.py native [--seed S] [--seconds N]    new programs on a real GPU, without Salus
    run_random.py reduce SEED KERNEL VARIANT         a small version of a kernel that fails
    run_random.py record                             writes the committed programs again
"""
import argparse
import os
import sys

import recorded
import toolchain
from hunt import KERNELS, Hunt, hunt_with_daemon
from native import Native, without_floating_matrices
from generator.program import Program
from reduce import Reducer

FOLDER = os.path.join(toolchain.BUILD, "random")


def emit(options):
    print(Program(options.seed, range(options.kernels)).text())
    return 0


def run_hunt(options):
    if options.no_daemon:
        hunt = Hunt(FOLDER, options.seed, options.files, options.jobs, None, options.keep)
        right = hunt.run()
    else:
        hunt, right = hunt_with_daemon(FOLDER, options.seed, options.files, options.jobs, options.keep)
    hunt.reduce(options.reduce)
    return 0 if right else 1


def run_native(options):
    if not options.matrices:
        without_floating_matrices()
    return 0 if Native(os.path.abspath(options.folder), options.seed, options.seconds, options.jobs).run() else 1


def run_reduce(options):
    r = Reducer(options.seed, options.kernel, options.variant, os.path.join(FOLDER, "reduced"), options.seconds)
    if r.run():
        return 0
    print("random: that kernel does not fail")
    return 1


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    v = verbs.add_parser("emit")
    v.add_argument("seed", type=int)
    v.add_argument("--kernels", type=int, default=KERNELS)
    v = verbs.add_parser("hunt")
    v.add_argument("--seed", type=int, default=1)
    v.add_argument("--files", type=int, default=10)
    v.add_argument("--jobs", type=int, default=os.cpu_count())
    v.add_argument("--no-daemon", action="store_true", help="the interpreter only")
    v.add_argument("--keep", action="store_true", help="leave sources and images in build/random")
    v.add_argument("--reduce", type=int, default=3, metavar="N", help="reduce the first N failures")
    v = verbs.add_parser("native")
    v.add_argument("--seed", type=int, default=1000000)
    v.add_argument("--seconds", type=float, default=240)
    v.add_argument("--jobs", type=int, default=os.cpu_count())
    v.add_argument("--folder", default=os.path.join(FOLDER, "native"))
    v.add_argument("--matrices", action="store_true", help="floating ones, too: their sums are known to differ")
    v = verbs.add_parser("reduce")
    v.add_argument("seed", type=int)
    v.add_argument("kernel", type=int)
    v.add_argument("variant", choices=toolchain.VARIANTS)
    v.add_argument("--seconds", type=float, default=600)
    verbs.add_parser("record")
    return parser.parse_args()


def main():
    options = arguments()
    return {"emit": emit, "hunt": run_hunt, "native": run_native, "reduce": run_reduce, "record": recorded.record}[options.verb](options)


if __name__ == "__main__":
    sys.exit(main())
