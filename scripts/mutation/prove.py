# SPDX-License-Identifier: Apache-2.0
"""Runs tests with a mutant in place of the tested code. A mutant is caught only when the test fails with the expected
words: a test that passes with a mutant proves nothing."""

import functools
import glob
import os
import re
import shutil
from typing import NamedTuple

from mutation import cases, descent, late
from mutation.mutant import Bad


class Proof(NamedTuple):
    """program: the program in the build folder that is linked with the mutant; "daemon", "slurm": the one of these that
    the mutated file belongs to. command: {program}, {case}, {limit} and {random} (the committed random programs) are
    filled in. words: a regular expression that a failure must print. cases: the file that has them, where a mutant
    names one. needs: targets that make must have built. long: not part of `make check`."""
    program: str
    command: tuple
    words: str
    cases: str = ""
    needs: tuple = ()
    limit_s: int = 600
    long: bool = False


UNIT_LIMIT_S = 200 # the test must fail by itself within this time, however busy the machine is
HANG_LIMIT_S = 20  # time limit of tests that may hang
PATIENCE_S = 10    # how long a test waits for an event that never comes
BELONGS = {"daemon": {"daemon/broker/": "salusd", "daemon/worker/": "salus-gpu", "daemon/ctl/": "salusctl"},
           "slurm": {"daemon/place/slurm/placer/": "slurm/salus-placer", "daemon/place/slurm/": "slurm/salus.so"}}
PROGRAMS = ("salusd", "salus-gpu", "salusctl")
PROOFS = {
    "lane_random": Proof("test/plain/lane_random", ("{program}",),
                         "seed [0-9]+ step [0-9]+, line [0-9]+: not so"),
    "launch_threads": Proof("test/plain/launch_threads", ("{program}", "50"), "line [0-9]+: not so"),
    "cuda_faults": Proof("test/plain/cuda_faults", ("{program}", "3"), "^cuda_faults: .*(, |[1-9][0-9]* complaints)",
                         limit_s=300),
    "cuda_faults_of": Proof("test/plain/cuda_faults", ("{program}", "100", "{case}"),
                            "^cuda_faults: .*(, |[1-9][0-9]* complaints)", cases="daemon/device/cuda/driver/calls.def", limit_s=300),
    "grow_worlds": Proof("test/plain/grow_worlds", ("{program}", "3"), "grow_worlds: |sched: "),
    "sched_world": Proof("test/plain/sched_world", ("{program}", "1", "60"), "sched_world: |sched: "),
    "plan_world": Proof("test/plain/plan_world", ("{program}", "1", "8"), "plan_world: .*: |plan_world: a policy"),
    "random_programs": Proof(
        "test/random/play",
        ("{program}", "--isa", "base", "--threads", "1", "--slice", "100000", "--most", "1", "{random}"),
        "^differs: "),
    "sim-orion": Proof("salus-sim", ("daemon/sim/papers/sim-orion", "--quick", "--sim", "{program}"),
                       "does not hold: .*{case}", cases="daemon/sim/papers/sim-orion", limit_s=600),
    "serving-figures": Proof("salus-sim", ("daemon/sim/papers/serving-figures", "--quick", "--sim", "{program}"),
                             "does not hold: .*{case}", cases="daemon/sim/papers/serving-figures", limit_s=600),
    "replay": Proof("salus-sim", ("{program}", "replay", "test/sim/{case}.trace"), "the replay differs"),
    "run_front": Proof("test/serve/echo_front", ("python3", "test/serve/run_front.py", "--front={program}", "{case}"), "FAIL.*{case}",
                       cases="test/serve/run_front.py", limit_s=300),
    "run_serve": Proof("salus-serve", ("python3", "test/serve/run_serve.py", "--serve={program}", "{case}"), "FAIL.*{case}",
                       cases="test/serve/run_serve.py", needs=("{build}/test/serve/adder", "{build}/test/serve/slow", "{build}/test/serve/mirror"), limit_s=300),
    "run_recovery": Proof("daemon", ("python3", "test/e2e/faults/run_recovery.py", "{case}"), "FAIL.*{case}",
                          cases="test/e2e/faults/run_recovery.py", needs=("all", "{build}/e2e/default-static/verify"), long=True),
    "run_limits": Proof("daemon", ("python3", "test/e2e/users/run_limits.py", "{case}"), "FAIL.*{case}",
                        cases="test/e2e/users/run_limits.py", needs=("all", "{build}/test/e2e/fail_call.so"), long=True),
    "run_ctl": Proof("daemon", ("python3", "test/e2e/control/run_ctl.py", "{case}"), "FAIL.*{case}", cases="test/e2e/control/run_ctl.py",
                     needs=("all", "{build}/e2e/default-static/train"), long=True),
    "run_transparent": Proof("daemon", ("python3", "test/e2e/control/run_transparent.py", "{case}"), "FAIL.*{case}",
                             cases="test/e2e/control/run_transparent.py", needs=("all",)),
    "run_slurm": Proof("slurm", ("python3", "test/slurm/run_slurm.py", "{case}"), "FAIL.*{case}", cases="test/slurm/run_slurm.py",
                       needs=("all", "slurm", "{build}/e2e/default-static/train", "{build}/e2e/default-static/paced"), long=True),
}


def proof_of(test):
    """Returns (proof, case) of a mutant's line `test:`."""
    name, _, case = test.partition(" ")
    if name in PROOFS:
        return PROOFS[name], case
    source = unit_sources().get(name)
    if not source:
        raise Bad(f"there is no {name}.c in test/unit, and no proof {name}")
    command = ("{program}", "--timeout", "{limit}", "--filter", cases.pattern(source, "{case}"))
    return Proof(unit_program(source), command, "(FAIL|CRASH).*{case}(?!.*Timed out)", cases=source), case


@functools.lru_cache(maxsize=None)
def unit_sources():
    """Returns the sources of unit tests by their names."""
    return {os.path.basename(p)[:-2]: p for p in glob.glob("test/unit/**/test_*.c", recursive=True)}


def unit_program(source):
    """Returns the program that contains a unit test, as scripts/mk/test/unit.mk builds it."""
    folder, name = os.path.split(source)
    return source[:-2] if os.path.basename(folder) == "alone" else f"{folder}/tests"


def check(test, sources):
    """Returns a complaint about a test that does not exist or has no such case."""
    proof, case = proof_of(test)
    if proof.program == "salus-sim" and not proof.cases and not os.path.isfile(f"test/sim/{case}.trace"):
        raise Bad(f"there is no test/sim/{case}.trace")
    if not proof.cases:
        return
    if proof.cases not in sources:
        with open(proof.cases) as f:
            sources[proof.cases] = f.read()
    if not case or case not in sources[proof.cases]:
        raise Bad(f"{proof.cases} has no case {case or '(none named)'}")


def program_of(proof, mutant):
    if proof.program not in BELONGS:
        return proof.program
    return next(p for d, p in BELONGS[proof.program].items() if mutant.file.startswith(d))


def judge(rc, out, words):
    """Returns ("CAUGHT" or "MISSED", why): the meaning of a test run with a mutant."""
    if rc == 0:
        return "MISSED", "passed although it is broken"
    said = next((line for line in out.split("\n") if re.search(words, line)), None)
    if said is not None:
        return "CAUGHT", said.strip()
    return "MISSED", f"failed ({rc}) without saying \"{words}\":\n" + "\n".join(out.split("\n")[-20:])


def run(command, limit_s, **more):
    """Returns (exit status, output); ends every process that the test left running."""
    rc, out = descent.run(command, limit_s, **more)
    return ("hung", out + f"\nTimed out after {limit_s} s") if rc is None else (late.status(rc, out), out)


def prove(build, mutant, test, text, folder):
    """Links the test with the mutant (`text` is the unchanged source), runs it, and judges the result."""
    proof, case = proof_of(test)
    name = program_of(proof, mutant)
    program = os.path.join(folder, os.path.basename(name))
    if proof.program == "daemon":
        os.makedirs(folder)
        for other in PROGRAMS:
            shutil.copy2(f"{build.folder}/{other}", folder)
    build.link_mutant(name, build.compile_mutant(mutant, text, folder, name), program)
    command, limit = [], HANG_LIMIT_S if mutant.hangs else UNIT_LIMIT_S
    for word in proof.command:
        command += random_files() if word == "{random}" else [word.format(program=program, case=case, limit=limit)]
    env = dict(os.environ, BUILD=build.folder, SALUS_TEST_PATIENCE=str(PATIENCE_S))
    if proof.program == "daemon":
        env.update(SALUS_DAEMON_BUILD=folder, SALUS_TEST_PATIENCE="20")
    if proof.program == "slurm":
        env.update(SALUS_TEST_SLURM=program, SALUS_TEST_PATIENCE="60")
    words = proof.words.format(case=case) if "{case}" in proof.words else proof.words
    if mutant.hangs:
        words += f"|Timed out|Timed.*{case}"
    return judge(*run(command, proof.limit_s, env=env), words)


def random_files():
    """Returns the committed random programs, each with its expected results."""
    return [p for e in sorted(glob.glob("build/data/random/*.expected"))
            for p in (e, e.replace(".expected", ".ptx"))]
