# SPDX-License-Identifier: Apache-2.0
"""scripts/gen-driver-api must reject a damaged spec and name the place, notice edited generated files, and miss no
function of a toolkit. Run by make check-gen."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOOL = os.path.join(ROOT, "scripts/gen-driver-api")
with open(os.path.join(ROOT, "proto/driver.api"), encoding="utf-8") as f:
    SPEC = f.read()


def record(export):
    """Returns the lines of one record of the spec."""
    return re.search(rf"^call \d+ {export}\n(?:    .*\n)+", SPEC, re.M).group(0)


def line_of(text, part):
    return text[: text.index(part)].count("\n") + 1


class Run(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.dir)

    def run_tool(self, spec, *options):
        path = os.path.join(self.dir, "driver.api")
        with open(path, "w", encoding="utf-8") as f:
            f.write(spec)
        command = [sys.executable, TOOL, "--spec", path, "--out", self.dir, *options]
        return subprocess.run(command, capture_output=True, text=True)


class BadSpec(Run):
    def refuse(self, old, new, message, marker=None):
        """Replaces `old` by `new` and expects `message` at the line of `marker` (of `new`)."""
        self.assertEqual(SPEC.count(old), 1, old)
        spec = SPEC.replace(old, new)
        done = self.run_tool(spec)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn(message, done.stderr)
        line = line_of(spec, marker or new) if new else 1
        self.assertIn(f"driver.api:{line}: ", done.stderr)
        self.assertEqual(os.listdir(self.dir), ["driver.api"], "nothing may be written")

    def change(self, export, old, new, message):
        whole = record(export)
        self.assertEqual(whole.count(old), 1)
        changed = whole.replace(old, new)
        spec = SPEC.replace(whole, changed)
        done = self.run_tool(spec)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn(message, done.stderr)
        self.assertRegex(done.stderr, r"driver\.api:\d+: ")

    def test_duplicate_number(self):
        number = re.match(r"call (\d+)", record("cuInit")).group(1)
        old = record("cuDeviceGet").split("\n", 1)[0]
        self.refuse(
            old + "\n",
            f"call {number} cuDeviceGet\n",
            f"number {number} of cuDeviceGet already is that of cuInit",
        )

    def test_missing_export(self):
        self.refuse(record("cuCtxGetId"), "", "687 exports have a record, not 688")

    def test_export_twice(self):
        spec = SPEC + "\n" + record("cuCtxGetId").replace("call ", "call 9")
        done = self.run_tool(spec)
        self.assertEqual(done.returncode, 1)
        self.assertIn("cuCtxGetId already has a record in line", done.stderr)

    def test_unknown_class(self):
        self.change("cuInit", "class hand", "class magic", 'cuInit has unknown class "magic"')

    def test_unknown_keyword(self):
        self.change("cuInit", "    class", "    klass", 'unknown keyword "klass" in cuInit')

    def test_no_class(self):
        self.change("cuInit", "    class hand\n", "", 'cuInit has no "class"')

    def test_no_args(self):
        self.change(
            "cuInit",
            "    args unsigned int Flags\n",
            "",
            'cuInit is of class hand but has no "args"',
        )

    def test_args_of_unsupported(self):
        self.change(
            "cuDeviceGetNvSciSyncAttributes",
            "    class",
            "    args int x\n    class",
            'cuDeviceGetNvSciSyncAttributes is unsupported but has "args"',
        )

    def test_argument_without_name(self):
        self.change(
            "cuInit", "args unsigned int Flags", "args int", '"int" in cuInit is not "TYPE NAME"'
        )

    def test_argument_twice(self):
        self.change(
            "cuDeviceGet", "int ordinal", "int device", "cuDeviceGet has two arguments device"
        )

    def test_bad_version(self):
        self.change(
            "cuInit", "cuInit 2000", "cuInit 2005", '"2005" of cuInit is not a CUDA version'
        )

    def test_version_twice(self):
        self.change("cuCtxGetDevice_v2", "13000", "2000", "both answer to cuCtxGetDevice 2000")

    def test_twin_of_nothing(self):
        self.change(
            "cuMemcpyAsync_ptsz",
            "twin ptsz cuMemcpyAsync",
            "twin ptsz cuMemcpyAsinc",
            "cannot be the ptsz twin",
        )

    def test_same_as_nothing(self):
        self.change(
            "cuCtxDestroy",
            "same cuCtxDestroy_v2",
            "same cuCtxDestroy_v3",
            "refers to cuCtxDestroy_v3, which has no record",
        )

    def test_same_as_unsupported(self):
        self.change(
            "cuCtxDestroy", "same cuCtxDestroy_v2", "same cuDeviceGetNvSciSyncAttributes", "which is unsupported"
        )

    def test_no_sentence(self):
        self.change("cuInit", "needs it.", "needs it", "not a sentence")

    def test_number_that_is_none(self):
        self.change("cuInit", "call ", "call x", 'is not "call NUMBER EXPORT"')

    def test_own_export_with_a_name_of_the_driver(self):
        self.refuse(
            "own salus_iteration\n",
            "own cuSalus\n",
            '"own cuSalus" does not name an export of our own',
        )

    def test_own_export_without_text(self):
        self.refuse(
            "    text Says that an iteration begins; see shim/salus.h.\n",
            "    name salus 2000\n",
            'salus_iteration has no "text"',
            "own salus_iteration",
        )

    def test_stray_line(self):
        done = self.run_tool("    class hand\n" + SPEC)
        self.assertEqual(done.returncode, 1)
        self.assertIn("driver.api:1: an indented line outside of a record", done.stderr)


class Numbers(unittest.TestCase):
    # The digest of the calls 1 to 637, those of CUDA 13.0. Their numbers are in logs and traces and may cross the wire,
    # so they must not change.
    DIGEST = "478687074dce92f036e8ab849db146b94b47da8bddfb8e3f803e1896a22017d3"

    def digest(self, spec):
        pairs = re.findall(r"^call (\d+) (\w+)", spec, re.M)
        pairs = sorted((int(number), export) for number, export in pairs if int(number) <= 637)
        return hashlib.sha256(repr(pairs).encode()).hexdigest()

    def test_numbers_never_change(self):
        self.assertEqual(self.digest(SPEC), self.DIGEST, "a number was changed or given away")

    def test_a_swap_would_be_noticed(self):
        one, two = record("cuInit").split()[1], record("cuDeviceGet").split()[1]
        spec = SPEC.replace(f"call {one} cuInit\n", f"call {two} cuInit\n")
        spec = spec.replace(f"call {two} cuDeviceGet\n", f"call {one} cuDeviceGet\n")
        self.assertNotEqual(self.digest(spec), self.DIGEST)


class Output(Run):
    def test_good_spec_is_written_and_then_checked(self):
        self.assertEqual(self.run_tool(SPEC).returncode, 0)
        done = self.run_tool(SPEC, "--check")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_edited_output_is_noticed(self):
        self.run_tool(SPEC)
        path = os.path.join(self.dir, "proto/gen/libcuda.map")
        with open(path, "a", encoding="utf-8") as f:
            f.write("/* mine */\n")
        done = self.run_tool(SPEC, "--check")
        self.assertEqual(done.returncode, 1)
        self.assertIn("libcuda.map: differs", done.stderr)

    def test_stale_output_is_noticed(self):
        self.run_tool(SPEC)
        new = record("cuInit").replace("class hand", "class sync")
        done = self.run_tool(SPEC.replace(record("cuInit"), new), "--check")
        self.assertEqual(done.returncode, 1)
        self.assertIn("calls.c: differs", done.stderr)

    def test_own_exports_are_exported_and_are_no_calls(self):
        self.run_tool(SPEC)
        with open(os.path.join(self.dir, "proto/gen/libcuda.map"), encoding="utf-8") as f:
            self.assertIn("    salus_iteration;\n", f.read())
        with open(os.path.join(self.dir, "proto/gen/calls.h"), encoding="utf-8") as f:
            self.assertNotIn("salus", f.read())

    def hash_of(self, spec):
        self.assertEqual(self.run_tool(spec).returncode, 0)
        with open(os.path.join(self.dir, "proto/gen/calls.h"), encoding="utf-8") as f:
            return re.search(r"CALL_SPEC_HASH UINT64_C\((0x[0-9a-f]{16})\)", f.read()).group(1)

    def test_hash_covers_meaning_and_not_prose(self):
        first = self.hash_of(SPEC)
        prose = SPEC.replace(
            record("cuInit"), record("cuInit").replace("    text ", "    text Well: ")
        )
        self.assertEqual(self.hash_of(prose), first)
        meaning = SPEC.replace(
            record("cuInit"), record("cuInit").replace("class hand", "class sync")
        )
        self.assertNotEqual(self.hash_of(meaning), first)


class Toolkit(Run):
    """Makes a toolkit with one entity that the spec does not know."""

    def check(self, cuda_h, typedefs, message, version=2000):
        include = os.path.join(self.dir, "toolkit/include")
        os.makedirs(include)
        texts = {
            "cuda.h": f"#define CUDA_VERSION {version}\n{cuda_h}",
            "cudaTypedefs.h": typedefs,
            "cudaProfiler.h": "",
            "cudaProfilerTypedefs.h": "",
        }
        for name, text in texts.items():
            with open(os.path.join(include, name), "w", encoding="utf-8") as f:
                f.write(text)
        done = self.run_tool(SPEC, "--toolkit", os.path.join(self.dir, "toolkit"))
        self.assertEqual(done.returncode, 1 if message else 0, done.stderr)
        self.assertIn(message, done.stderr)

    def test_known_function(self):
        self.check("CUresult CUDAAPI cuInit(unsigned int Flags);\n", "", "")

    def test_function_without_record(self):
        self.check(
            "CUresult CUDAAPI cuNewCall(int x);\n",
            "",
            "cuda.h declares cuNewCall, which has no record",
        )

    def test_newer_export(self):
        self.check(
            "#define cuMemAlloc cuMemAlloc_v3\n", "", "maps cuMemAlloc onto cuMemAlloc_v3", 13050
        )

    def test_newer_version(self):
        self.check(
            "",
            "typedef CUresult (CUDAAPI *PFN_cuInit_v14000)(int);\n",
            "no record answers to the typedef cuInit 14000",
        )

    # cuLaunchHostFunc dates from 10.0 and has another form since 13.1.
    LAUNCH = """typedef CUresult (CUDAAPI *PFN_cuLaunchHostFunc_v10000)(int);
typedef CUresult (CUDAAPI *PFN_cuLaunchHostFunc_v10000_ptsz)(int);
"""

    def test_what_is_newer_than_the_toolkit(self):
        self.check("", self.LAUNCH, "", 13000)

    def test_what_the_toolkit_should_have(self):
        self.check(
            "", self.LAUNCH, "cuLaunchHostFunc_v2 claims version 13010, which no typedef has", 13010
        )


if __name__ == "__main__":
    unittest.main()
