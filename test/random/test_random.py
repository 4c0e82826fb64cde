#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The random tester's own tests: seeds mean the same everywhere, and failures are detected."""
import glob
import os
import sys
import tempfile

import native
import toolchain
from generator.dice import Dice
from generator.intrinsics import INTRINSICS
from generator.program import Program

sys.path.insert(0, os.path.join(toolchain.ROOT, "test", "e2e", "lib"))
from harness import run_tests  # noqa: E402

HEAD = '#include "test/random/language/language.h"\nKERNEL k(PARAMETERS) {\nIDENTITY;\n'
TAIL = ('}\n#include "test/random/language/reference.h"\nstatic const struct reference references[] = {'
        '{"k", k, {1, 1, 1}, {40, 1, 1}, 0, 40, 1, 0}};\n'
        "int main(int argc, char **argv) { return reference_main(references, 1, 5, argc > 1 ? argv[1] : NULL); }\n")


def reference_of(body):
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(folder, "program.cu")
        with open(source, "w") as f:
            f.write(HEAD + body + TAIL)
        with open(toolchain.reference(source, "90")) as f:
            return f.read()


def refused(body, why):
    try:
        reference_of(body)
    except toolchain.GeneratorFault as e:
        assert why in str(e), f"refused for another reason: {e}"
        return
    raise AssertionError(f"accepted: {body}")


def test_a_seed_means_the_same_everywhere():
    dice = Dice("1/0")
    got = [dice.below(1000) for _ in range(6)]
    assert got == [906, 381, 439, 445, 510, 113], got
    assert Program(3, [7]).text() == Program(3, [7]).text()
    alone, among = Program(3, [7]).kernels[0], Program(3, range(9)).kernels[7]
    assert alone.text() == among.text(), "a kernel depends on those before it"


def test_intrinsics_are_found():
    names = {i.name for i in INTRINSICS}
    assert len(names) > 100 and {"popc32", "guarded_mov", "half_from_f32"} <= names, len(names)


def test_a_good_program_is_accepted():
    said = reference_of("out[g] = ballot(full, lane & 1) + sync_count(t < 9);\n")
    assert said.startswith("seed 5\nk 0 1 1 1 40 1 1 0 40 1 "), said


def test_undefined_behaviour_is_the_generators_fault():
    refused("out[g] = (u64)(i32)((i32)(lane + 0x7fffffffu) + (i32)in[3] % 2 - 1 - (i32)lane * 0x7000000);\n", "runtime error")
    refused("out[g] = 1ull << (lane + 40);\n", "runtime error")
    refused("i32 a[4] = {1, 2, 3, 4}; out[g] = (u64)a[lane & 7];\n", "runtime error")
    refused("out[g] = (u64)(u32)(f32_raw(0x7f000000u) * (f32)lane);\n", "runtime error")


def test_lanes_that_do_not_meet_are_the_generators_fault():
    refused("if (lane < 5) out[g] = ballot(full, true);\n", "never come")
    refused("if (lane < 5) sync_block();\n", "never come")
    refused("out[g] = ballot(full & ~4u, true);\n", "not in its own mask")
    refused("out[g] = lane < 5 ? ballot(full, true) : shuffle_xor(full, lane, lane, 1, 32);\n", "never come")


def test_matrices_and_barriers_have_a_model():
    said = reference_of("if (full == ~0u) out[g] = mma_s8_16(lane, 2u, 3u) + transpose_matrix(lane);\n"
                        "SHARED u64 bar; if (t == 0) bar_init(&bar, 40u); sync_block(); meet_by_token(&bar);\n")
    assert said.startswith("seed 5\nk 0 1 1 1 40 1 1 0 40 1 "), said
    refused("if (t < 5) out[g] = mma_half(1u, 2u, 3u);\n", "never come")
    refused("out[g] = mma_half(1u, 2u, 3u);\n", "never come")
    refused("u64 bar = 0; if (t < 5) meet_by_token(&bar);\n", "never come")


def test_a_wrong_result_is_seen():
    """Damages a committed program: one digit of one hash, and a kernel that does not exist."""
    path = sorted(glob.glob(os.path.join(toolchain.ROOT, "build", "data", "random", "*.expected")))[0]
    image = path.replace(".expected", ".ptx")
    with open(path) as f:
        lines = f.read().split("\n")
    with tempfile.TemporaryDirectory() as folder:
        wrong = os.path.join(folder, "wrong.expected")
        for change in (lambda l: l[:-1] + ("0" if l[-1] != "0" else "1"), lambda l: l.replace("k04", "k99")):
            changed = list(lines)
            changed[5] = change(changed[5])
            with open(wrong, "w") as f:
                f.write("\n".join(changed))
            differs, _ = toolchain.play(wrong, image, "--isa", "base", "--threads", "1", "--slice", "100000")
            assert len(differs) == 1 and ("k04" in differs[0] or "k99" in differs[0]), differs


def hunted(script):
    """The result of ten kernels whose job is a shell script; its arguments are the job's."""
    with tempfile.TemporaryDirectory() as folder:
        job = os.path.join(folder, "job")
        with open(job, "w") as f:
            f.write("#!/bin/sh\n" + script)
        os.chmod(job, 0o755)

        class Made(native.Native):
            def made(self, name, *_):
                files = [os.path.join(self.folder, name + end) for end in (".cu", ".expected", ".ptx")]
                for path in files:
                    with open(path, "w") as f:
                        f.write("int main() {}" if path.endswith("cu") else "")
                return files

        hunt, said = Made(folder, 7, 60, 1), []
        hunt.say = said.append
        native.JOB = job
        hunt.one(7, 20)
        return dict(hunt.counts), "\n".join(said)


def test_what_differs_on_a_gpu_is_looked_at_by_itself():
    assert hunted("exit 0")[0] == {"kernels": 10}
    differs = "echo differs: seed 7 kernel k23 gives aa; "
    counts, said = hunted(differs + "exit 1")
    assert counts == {"kernels": 10, "differ": 1} and "differ: seed 7 kernel 23 variant 89" in said, (counts, said)
    counts, _ = hunted(f'case "$*" in *"-opt 0"*) exit 0;; esac; {differs} exit 1')
    assert counts == {"kernels": 10, "the driver's optimizer": 1}, counts
    counts, _ = hunted(f'case "$*" in *-want*) exit 0;; esac; {differs} exit 1')
    assert counts == {"kernels": 10, "not by itself": 1}, counts
    counts, _ = hunted("kill -SEGV $$")
    assert counts == {"kernels": 10, "no answer": 1}, counts
    counts, _ = hunted("echo differs: k27 gives CUDA error 719; echo stopped: k27; exit 3")
    assert counts == {"kernels": 10, "differ": 3}, counts  # kernels after a stopped one count as well


if __name__ == "__main__":
    sys.exit(run_tests(globals()))
