# SPDX-License-Identifier: Apache-2.0
"""Tests the choice of the compiler, and that a downloaded one is complete or absent: scripts/find-nvcc and
scripts/fetch-nvcc in a tree of their own, with a fake toolkit, python3 and pip. Each mutant in MUTANTS must fail the
test that it names. Run by make check-setup; scripts/bare-root-check tests the real download."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FILES = ("find-nvcc", "fetch-nvcc", "nvcc.txt")

# Answers like a compiler that knows its toolkit.
NVCC = """#!/bin/sh
[ "$1" = --version ] && exit 0
echo '#$ TOP='"$(dirname "$(realpath "$0")")/.." >&2
"""

# A pip that installs the minimum of the packages' files, or fails, or is killed half-way.
PIP = """#!/bin/sh
echo "$@" >>"$PIP_CALLS"
[ "$PIP_DOES" = fail ] && exit 1
while [ "$1" != --target ]; do shift; done
mkdir -p "$2/nvidia/cu13/bin" "$2/nvidia/cu13/lib" "$2/some.dist-info"
touch "$2/nvidia/cu13/lib/libcudart.so.13"
cp "$FAKE_NVCC" "$2/nvidia/cu13/bin/nvcc"
[ "$PIP_DOES" = die ] && kill -9 $PPID
exit 0
"""

PYTHON = """#!/bin/sh
[ "$1" = -c ] && exit 0
mkdir -p "$3/bin" && cp "$FAKE_PIP" "$3/bin/pip"
"""

MUTANTS = [  # file, text, replacement, the test that must fail
    ("find-nvcc", '"${NVCC:-}" "$(command -v nvcc)"', '"$(command -v nvcc)" "${NVCC:-}"', "test_order"),
    ("find-nvcc", 'cmp -s "$scripts/nvcc.txt" "$toolkit/nvcc.txt" && fetched', "fetched",
     "test_of_other_packages"),
    ("find-nvcc", 'exec realpath "$("$c" -dryrun -x cu /dev/null 2>&1 | sed -n \'s/^#\\$ TOP=//p\')"',
     'exec realpath "$c/../.."', "test_home"),
    ("fetch-nvcc", 'cmp -s "$list" "$toolkit/nvcc.txt" && exit 0', "", "test_once"),
    ("fetch-nvcc", "build/toolkit${1:+-$1}", "build/toolkit", "test_newest"),
    ("fetch-nvcc", "    ln -s lib \"$1/lib64\"\n", "", "test_whole"),
    ("fetch-nvcc", "--require-hashes", "", "test_whole"),
    ("fetch-nvcc", "cuda=$part/packages/nvidia/cu13", 'cuda=$toolkit; mv "$part/packages/nvidia/cu13" "$cuda"',
     "test_does_not_run"),
    ("fetch-nvcc", '    rm -rf "$part"\n    exit 1', "    exit 1", "test_failed"),
]


class Setup(unittest.TestCase):
    mutant = None

    def setUp(self):
        self.dir = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.dir)
        os.makedirs(self.path("scripts"))
        for name in FILES:
            with open(os.path.join(ROOT, "scripts", name), encoding="utf-8") as f:
                text = f.read().replace("/usr/local/cuda", self.path("usual"))
            text = text.replace("/usr/bin/python3", "/nowhere/python3")
            if self.mutant and self.mutant[0] == name:
                assert text.count(self.mutant[1]) == 1, self.mutant
                text = text.replace(self.mutant[1], self.mutant[2])
            self.write(f"scripts/{name}", text)
        self.env = {"PATH": self.path("bin") + ":/usr/bin:/bin", "PIP_CALLS": self.path("calls"),
                    "FAKE_NVCC": self.write("fake/nvcc", NVCC), "FAKE_PIP": self.write("fake/pip", PIP)}
        self.write("bin/python3", PYTHON)

    def path(self, *parts):
        return os.path.join(self.dir, *parts)

    def write(self, name, text):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(self.path(name), 0o755)
        return self.path(name)

    def run_script(self, name, *options, **env):
        return subprocess.run([self.path("scripts", name), *options], env={**self.env, **env},
                              capture_output=True, text=True, timeout=60)

    def found(self, *options, **env):
        done = self.run_script("find-nvcc", *options, **env)
        return done.stdout.strip() if done.returncode == 0 else None

    def calls(self):
        with open(self.path("calls"), encoding="utf-8") as f:
            return f.read().splitlines()

    def test_order(self):
        self.assertIsNone(self.found())
        self.assertEqual(self.run_script("fetch-nvcc").returncode, 0)
        self.assertEqual(os.path.realpath(self.found()), self.path("build/toolkit/bin/nvcc"))
        for name in ("usual/bin/nvcc", "bin/nvcc"):
            self.write(name, NVCC)
            self.assertEqual(self.found(), self.path(name), "before what was fetched")
        mine = self.write("mine/nvcc", NVCC)
        self.assertEqual(self.found(NVCC=mine), mine)
        self.assertEqual(self.found(NVCC="/nowhere/nvcc"), self.path("bin/nvcc"))

    def test_home(self):
        self.write("usual/bin/nvcc", NVCC)
        self.write("bin/nvcc", f'#!/bin/sh\nexec {self.path("usual/bin/nvcc")} "$@"\n')
        self.assertEqual(self.found("--home"), self.path("usual"))

    def test_whole(self):
        done = self.run_script("fetch-nvcc")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, r"^setup: no nvcc is found: .*MB.*once\)\n$")
        self.assertEqual(os.readlink(self.path("build/toolkit/lib64")), "lib")
        self.assertTrue(os.path.exists(self.path("build/toolkit/lib64/libcudart.so")))
        self.assertTrue(os.path.exists(self.path("build/toolkit/some.dist-info")), "the licence")
        self.assertFalse(os.path.exists(self.path("build/toolkit.part")))
        self.assertIn("--require-hashes", self.calls()[0])

    def test_once(self):
        for _ in range(2):
            done = self.run_script("fetch-nvcc")
            self.assertEqual(done.returncode, 0)
        self.assertEqual((done.stdout, len(self.calls())), ("", 1))

    def test_of_other_packages(self):
        self.run_script("fetch-nvcc")
        self.write("scripts/nvcc.txt", "another==1")
        self.assertIsNone(self.found(), "what older lines brought is not taken")
        self.assertEqual(self.run_script("fetch-nvcc").returncode, 0)
        self.assertIsNotNone(self.found())
        self.assertEqual(len(self.calls()), 2)

    def test_newest(self):
        self.write("scripts/nvcc-newest.txt", "another==2")
        self.assertEqual(self.run_script("fetch-nvcc", "newest").returncode, 0)
        self.assertTrue(os.path.exists(self.path("build/toolkit-newest/bin/nvcc")))
        self.assertIsNone(self.found(), "it is for tests alone")
        self.assertIn("nvcc-newest.txt", self.calls()[0])

    def test_failed(self):
        done = self.run_script("fetch-nvcc", PIP_DOES="fail")
        self.assertEqual(done.returncode, 1)
        self.assertIn("setup: the compiler could not be fetched", done.stderr)
        self.assertIn("set NVCC", done.stderr)
        self.assertIsNone(self.found())
        self.assertFalse(os.path.exists(self.path("build/toolkit.part")))

    def test_killed_half_way(self):
        self.assertLess(self.run_script("fetch-nvcc", PIP_DOES="die").returncode, 0)
        self.assertTrue(os.path.exists(self.path("build/toolkit.part")))
        self.assertIsNone(self.found(), "half of one is none")
        self.assertEqual(self.run_script("fetch-nvcc").returncode, 0)
        self.assertIsNotNone(self.found())
        self.assertFalse(os.path.exists(self.path("build/toolkit.part")))

    def test_does_not_run(self):
        broken = self.write("fake/nvcc", "#!/bin/sh\nexit 1\n")
        done = self.run_script("fetch-nvcc", FAKE_NVCC=broken)
        self.assertEqual(done.returncode, 1)
        self.assertIn("does not run", done.stderr)
        self.assertFalse(os.path.exists(self.path("build/toolkit")))

    def test_without_venv(self):
        self.write("bin/python3", "#!/bin/sh\nexit 1\n")
        done = self.run_script("fetch-nvcc")
        self.assertEqual(done.returncode, 1)
        self.assertIn("python3-venv", done.stderr)


def missed():
    """Returns the mutants whose test passes all the same."""
    for mutant in MUTANTS:
        Setup.mutant = mutant
        result = unittest.TestResult()
        Setup(mutant[3]).run(result)
        # Ignores an assertion about the mutant itself, which would look like a test that noticed.
        bad = [e for _, e in result.errors + result.failures if "self.mutant[1]" in e]
        if bad or result.wasSuccessful():
            yield mutant[0], mutant[1], mutant[3]
    Setup.mutant = None


if __name__ == "__main__":
    program = unittest.main(exit=False, argv=[sys.argv[0], "--quiet"])
    not_seen = list(missed())
    for name, what, test in not_seen:
        print(f"MISSED  {name}: {test} passes without {what!r}")
    sys.exit(bool(not_seen) or not program.result.wasSuccessful())
