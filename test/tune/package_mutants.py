#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Copies of the package of scripts/ray that are wrong, one thing each: run_package.py must say so."""
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGE = os.path.join(HERE, "..", "..", "scripts", "ray")
# (file, what is there once, what is there instead, the test that fails)
MUTANTS = [
    ("planner", "self._forget(*batch[r.index])", "pass", "PlannerTest.test_refused"),
    ("planner", "if wrong:", "if False:", "PlannerTest.test_refused"),
    ("planner", "NEVER_NS if change_s is None", "0 if change_s is None", "PlannerTest.test_nobody_is_restarted_unless_that_was_said"),
    ("planner", "while self.events or not batches:", "while not batches:", "PlannerTest.test_more_events_than_a_step_takes"),
    ("planner", "and number not in named", "", "PlannerTest.test_who_waits_is_another_one_when_that_was_said"),
    ("planner", "and not t.changed", "", "PlannerTest.test_gpu_goes_and_comes"),
    ("planner", "if place.gpus:", "if True:", "PlannerTest.test_who_waits_is_another_one_when_that_was_said"),
    ("planner", "named if batches == 1 else self.names", "set()", "PlannerTest.test_who_lost_its_place_in_an_earlier_batch"),
    ("planner", "if -2**62 < ns < 2**62 else -1", "", "PlannerTest.test_refused"),
    ("planner", "library.FILL | library.ROOM", "library.FILL", "PlannerTest.test_known"),
    ("library", "JOIN, LEFT, END, DIED", "JOIN, END, LEFT, DIED", "PlannerTest.test_a_thousand_more_than_gpus"),
    ("overheads", "if len(found) >= SAMPLES else None", "if found else None", "OverheadsTest.test_one_sample_is_none"),
    ("overheads", "for a, b in pairs if a and b", "for a, b in [(min(x for x, _ in pairs if x), max(y for _, y in pairs if y))]",
     "OverheadsTest.test_a_trial_is_compared_with_itself"),
    ("overheads", "self.settled = worth < self.c or", "self.settled =", "OverheadsTest.test_climbs_until_it_is_not_worth_it"),
    ("overheads", "min(2 * self.c, self.most)", "2 * self.c", "OverheadsTest.test_no_more_than_were_allowed"),
    ("overheads", "ratio ** (n / steps)", "ratio", "OverheadsTest.test_the_point_may_be_between_two_rungs"),
    ("overheads", "self.means[:worth]", "self.means", "OverheadsTest.test_climbs_until_it_is_not_worth_it"),
    ("overheads", "if place.gpus[0] not in starting", "", "OverheadsTest.test_who_is_only_starting_is_no_company"),
    ("overheads", "return min(max(", "return max(max(", "OverheadsTest.test_alpha_leaves_c_as_it_was_found"),
    ("groups", "[m for m in milestones if m > done]", "[m for m in milestones if m >= done]", "GroupsTest.test_asha"),
    ("groups", "min(at, whole)", "at", "GroupsTest.test_asha"),
    ("groups", 'getattr(bracket, "_cumul_r", 0)\n', "0\n", "GroupsTest.test_hyperband"),
    ("groups", "if not whole > 0:", "if False:", "GroupsTest.test_budget_below_none"),
    ("groups", 'if name == "HyperBandForBOHB":', "if False:", "GroupsTest.test_hyperband"),
    ("groups", "last_train_time < scheduler._next", "last_train_time <= scheduler._next", "GroupsTest.test_pbt"),
    ("control", 'if why.code in ("not_permitted", "bad_request", "protocol"):', "if False:", "ControlTest.test_refused"),
    ("control", '"bad_request", "protocol"', '"bad_request", "failed"', "ControlTest.test_a_job_that_starts_is_asked_again"),
    ("control", "first - 256", "first", "ControlTest.test_numbers_and_texts"),
    ("control", "if len(found) < count:", "if False:", "ControlTest.test_numbers_and_texts"),
    ("machine", 'weight != job["weight"]', "True", "ControlTest.test_weights_are_set_where_they_differ"),
    ("machine", "return self._again()", "return None", "ControlTest.test_a_daemon_that_ends_is_asked_again"),
    ("machine", 'g["state"] != "failed"', "True", "ControlTest.test_weights_are_set_where_they_differ"),
    ("machine", 'g["state"] == "ready"', "True", "ControlTest.test_weights_are_set_where_they_differ"),
    ("deaths", "if count <= record.failures:", "if False:", "DeathsTest.test_asked_twice_about_one"),
    ("deaths", "record.forgiven < FORGIVEN and ", "", "DeathsTest.test_who_ends_every_worker_is_not_forgiven_for_ever"),
    ("deaths", "if done > record.done:", "if done != record.done:", "DeathsTest.test_who_ends_every_worker_is_not_forgiven_for_ever"),
    ("deaths", "gpu.restarts != restarts", "False", "DeathsTest.test_its_gpu"),
    ("deaths", "not gpu.ready", "not gpu.serves", "DeathsTest.test_its_gpu"),
    ("deaths", "return True  #", "return False  #", "DeathsTest.test_its_gpu"),
    ("deaths", "now.get(number)", "now.get(1)", "DeathsTest.test_its_gpu"),
    ("seat", "prctl(PR_SET_PDEATHSIG, signal.SIGKILL)", "getpid()", "SeatTest.test_ends_with_the_trial"),
]


def run(folder, test):
    return subprocess.run([sys.executable, os.path.join(HERE, "run_package.py"), test], env=dict(os.environ, PACKAGE=folder),
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=200)


def is_caught(file, old, new, test):
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(os.path.join(PACKAGE, "salus_fluid"), os.path.join(folder, "salus_fluid"))
        path = os.path.join(folder, "salus_fluid", file + ".py")
        with open(path) as f:
            text = f.read()
        if text.count(old) != 1:
            return f"{text.count(old)} times in {file}.py"
        with open(path, "w") as f:
            f.write(text.replace(old, new))
        done = run(folder, test)
        failed = ("FAIL: " + test.split(".")[1], "ERROR: " + test.split(".")[1])
        return "" if done.returncode and any(line in done.stdout for line in failed) else "not noticed"


def main():
    missed = 0
    for mutant in MUTANTS:
        why = is_caught(*mutant)
        if why:
            missed += 1
            print(f"package mutant: {mutant[1]!r} -> {mutant[2]!r}: {why}", file=sys.stderr)
    print(f"package: {len(MUTANTS) - missed} mutants caught, {missed} not")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
