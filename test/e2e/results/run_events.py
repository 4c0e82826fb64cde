#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records the scheduler's events of unmodified programs in the real daemon. Under several pairs of policies, the same
events give the same actions again, from the first step of the recording or from the middle of a worker's life. The same
holds for the events of a worker that crashed.

    test/e2e/results/run_events.py [--list] [NAME-PART...]
"""
import os
import re
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from harness import PATIENCE, Daemon, program, run_tests, tool, wait_for

PAIRS = [("fair", "streams"), ("srtf", "slack"), ("pack", "orion"), ("fifo", "reef"), ("fair", "ticktock"),
         ("pack", "temporal")]


def trainer(iterations):
    return [program("trainer")] + [str(a) for a in (iterations, 4, 8, 16, 0)]


def jobs(d, iterations):
    """Runs two trainers, one of them with priority, and a job without a reservation, to their ends."""
    word = {"SALUS_PERSISTENT": "24MiB", "SALUS_EPHEMERAL": "16MiB", "SALUS_MARK": "1"}
    running = [d.start(trainer(iterations), **word), d.start(trainer(iterations), SALUS_PRIORITY="1", **word),
               d.start([program("reduce")])]
    for p in running:
        out = p.communicate(timeout=PATIENCE)[0]
        if p.returncode:
            raise AssertionError(f"a job failed: {out}")


class Recording:
    """`salusctl record --events` until it is told to stop."""

    def __init__(self, d, name):
        self.path = os.path.join(d.run_dir, name)
        self.process = subprocess.Popen([tool("salusctl"), "--run-dir", d.run_dir, "record", "--events", self.path],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True)
        wait_for("the recording begins", lambda: os.path.exists(self.path) and os.path.getsize(self.path))

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        out = self.process.communicate(timeout=PATIENCE)[0]
        if self.process.returncode:
            raise AssertionError(f"salusctl record --events: exit {self.process.returncode}: {out}")
        return self.path


def replay(path):
    return subprocess.run([tool("salus-sim"), "replay", path], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=PATIENCE)


def replay_same(path, least_runs):
    done = replay(path)
    if done.returncode:
        raise AssertionError(f"the replay differs: {done.stdout[-3000:]}")
    with open(path) as f:
        runs = len(re.findall(r"^> run ", f.read(), re.M))
    if runs < least_runs:
        raise AssertionError(f"only {runs} operations were recorded")
    print(f"    {done.stdout.strip().split(': ')[-1]}")


def test_a_recording_replays_to_the_same_actions_under_every_pair_of_policies():
    for lane, kernel in PAIRS:
        with Daemon("--lane-policy", lane, "--kernel-policy", kernel) as d:
            recording = Recording(d, "events")
            jobs(d, 4)
            replay_same(recording.stop(), 100)


def test_a_recording_may_begin_and_end_in_the_middle_and_see_the_policy_change():
    with Daemon("--lane-policy", "fair", "--kernel-policy", "slack") as d:
        endless = d.start(trainer(1 << 20), SALUS_PERSISTENT="24MiB", SALUS_EPHEMERAL="16MiB", SALUS_MARK="1",
                          SALUS_PRIORITY="1")
        wait_for("the job runs", lambda: any(j["iterations"] > 5 for j in d.jobs()))
        recording = Recording(d, "events")
        jobs(d, 2)
        d.ctl("policy", "set", "--lane", "pack", "--kernel", "orion", "swap=no")
        jobs(d, 2)
        path = recording.stop()
        endless.kill()
        endless.communicate()
        with open(path) as f:
            text = f.read()
        if "\npolicy(lane=pack,kernel=orion" not in text:
            raise AssertionError("the change of policy is not in the recording")
        replay_same(path, 100)


def test_a_worker_that_crashes_leaves_what_its_scheduler_went_by():
    with Daemon() as d:
        jobs(d, 3)
        os.kill(d.worker_pid(), signal.SIGSEGV)
        path = os.path.join(d.run_dir, "worker.events")
        wait_for("the log names the events", lambda: f"event=crash signal=11 events={path}" in d.log())
        wait_for("and where it was", lambda: re.search(r"salus-gpu\(.*\+0x[0-9a-f]+\)", d.log()))
        replay_same(path, 50)
        wait_for("another worker serves", lambda: d.ctl("status", check=False).returncode == 0)
        jobs(d, 1)


def test_a_damaged_recording_is_refused_with_the_line():
    with Daemon() as d:
        jobs(d, 1)
        recording = Recording(d, "events")
        jobs(d, 2)
        with open(recording.stop()) as f:
            text = f.read()
        damaged = {
            "cut": (text[:len(text) // 2], "cut off"),
            "no end": (text[:-len("end\n")], "the line 'end' is missing"),
            "checkpoint": (text.replace("\n:", "\n:ff", 1), "checkpoint"),
            "another build": (re.sub(r"^(checkpoint \d+ )\w+", r"\g<1>0123", text, flags=re.M), "build 0123"),
            "an event": (text.replace("\n@", "\n@x", 1), "is not a time"),
            "an action": (re.sub(r"> run (\d+):", r"> run \g<1>0:", text, count=1), "recorded: run"),
        }
        for what, (broken, words) in damaged.items():
            path = os.path.join(d.run_dir, "broken")
            with open(path, "w") as f:
                f.write(broken)
            done = replay(path)
            if done.returncode == 0 or words not in done.stdout:
                raise AssertionError(f"{what}: exit {done.returncode}: {done.stdout[-500:]}")


def test_only_a_file_is_recorded_into():
    with Daemon() as d:
        done = d.ctl("record", "--events", "--for", "1s", "/dev/null", check=False)
        if done.returncode != 2 or "into a regular file" not in done.stderr:
            raise AssertionError(f"exit {done.returncode}: {done.stderr}")


if __name__ == "__main__":
    sys.exit(run_tests(globals()))
