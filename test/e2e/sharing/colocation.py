# SPDX-License-Identifier: Apache-2.0
"""A latency-bound service beside two best-effort training jobs: the jobs, their run under a policy, and the figures
that are counted meanwhile. Both modes of run_colocation.py use it."""
import os
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from harness import CHECKSUM, PATIENCE, program, wait_for

MEMORY = "256MiB"  # one lane for each of the three jobs
PRIORITY = 10      # the service's priority
CODE_MIB = 4       # part of the reservation for modules
ENDLESS = 1 << 30  # iterations
GAP_MS = 60        # between requests, which take some 15 ms alone


class Job:
    """A program that gives its reservation, in MiB, and marks its iterations; `more`: further environment variables."""

    def __init__(self, name, argv, persistent, ephemeral, **more):
        self.name = name
        self.argv = [program(argv[0])] + [str(a) for a in argv[1:]]
        self.env = {"SALUS_PERSISTENT": f"{persistent + CODE_MIB}MiB",
                    "SALUS_EPHEMERAL": f"{ephemeral}MiB", "SALUS_MARK": "1",
                    "SALUS_JOB_NAME": name}
        self.env.update({f"SALUS_{k.upper()}": str(v) for k, v in more.items()})


def service(requests, gap_ms=GAP_MS, seed=1, hold=False):
    return Job("service", ["service", requests, round(1000 * gap_ms), seed, int(hold)], 12, 2,
               priority=PRIORITY)


def trainers(iterations=ENDLESS):
    """Returns two trainers: one streams memory on few SMs, one computes on all. Policies that look at kernels treat
    them differently from policies that do not."""
    return [Job("streaming", ["steps", iterations, 6, 256 << 10, 1, 32], 10, 8),
            Job("computing", ["steps", iterations, 6, 64 << 10, 40, 256], 6, 4)]


class Running:
    """A job's process. A thread reads its output line by line, so that the test can wait for a line without polling,
    which would disturb the measurement."""

    def __init__(self, d, job):
        self.d, self.job, self.output = d, job, ""
        self.process = subprocess.Popen(job.argv, env=dict(d.environment(), **job.env), text=True,
                                        errors="replace", stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def read_until(self, beginning, seconds=PATIENCE):
        """Reads up to the line with this beginning, or to the end (None)."""
        watchdog = threading.Timer(seconds, self.process.kill)
        watchdog.start()
        try:
            for line in iter(self.process.stdout.readline, ""):
                self.output += line
                if beginning and line.startswith(beginning):
                    return
            self.process.wait()
        finally:
            watchdog.cancel()
        if beginning or self.process.returncode:
            raise AssertionError(f"{self.job.name}: exit {self.process.returncode}"
                                 f" (-9: it hangs, {seconds:g} s were given)\n"
                                 f"{self.output}{self.d.log()[-4000:]}")

    def finish(self):
        """Closes its input and waits for its successful end. Returns its checksums by name."""
        self.process.stdin.close()
        self.read_until(None)
        return checksums(self.output)

    def stop(self):
        """Ends the job after its iteration. Returns the checksums that it printed."""
        self.process.terminate()
        found = self.finish()
        found.pop("steps", None)  # the value depends on an unknown number of iterations
        return found

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()


class Together:
    """Runs of jobs, all of which have ended afterwards."""

    def __init__(self, d):
        self.d, self.running = d, []

    def start(self, job):
        self.running.append(Running(self.d, job))
        return self.running[-1]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for r in self.running:
            r.kill()
        wait_for("all jobs are gone", lambda: not self.d.jobs())


def checksums(output):
    return dict(CHECKSUM.findall(output))


def compare(got, want, what):
    """Checks that both outputs are equal and not empty."""
    both = got.keys() & want.keys()
    if not both:
        raise AssertionError(f"{what}: no checksum to compare: {got}, alone {want}")
    for name in sorted(both):
        if got[name] != want[name]:
            raise AssertionError(f"{what}: {name} is {got[name]}, alone {want[name]}")


# ---- policies -------------------------------------------------------------------------------------

def known_policies(d):
    return [p["name"] for p in d.ctl_json("policy", "list")["policies"] if p["kind"] == "kernel"]


def setting(shown, key):
    """Returns a setting for `policy set`, of a policy from `policy show`."""
    if key in shown:
        return f"{key}={shown[key]}"
    if f"{key}_seconds" in shown:
        return f"{key}={round(1e9 * shown[f'{key}_seconds'])}ns"
    raise AssertionError(f"the daemon has no setting '{key}'; it has {', '.join(sorted(shown))}")


class Policies:
    """Chooses kernel policies live, by a name with settings: streams+exclusive=yes. Undoes the settings of earlier
    choices."""

    def __init__(self, d):
        self.d, self.before, self.changed = d, d.ctl_json("policy", "show")["policy"], set()

    def choose(self, choice):
        kernel, *settings = choice.split("+")
        known = known_policies(self.d)
        if kernel not in known:
            raise AssertionError(f"the daemon knows no kernel policy '{kernel}'; it knows {', '.join(known)}")
        undo = [setting(self.before, key) for key in sorted(self.changed)]
        self.changed |= {s.partition("=")[0] for s in settings}
        self.d.ctl("policy", "set", "--kernel", kernel, *undo)
        if settings:
            self.d.ctl("policy", "set", *settings)
        now = self.d.ctl_json("policy", "show")["policy"]["kernel"]
        if now != kernel:
            raise AssertionError(f"policy {kernel} was set, {now} is in effect")


# ---- progress -------------------------------------------------------------------------------------

def iterations(d):
    return {j["name"]: j["iterations"] for j in d.jobs()}


def wait_for_progress(d, running, count, seconds=PATIENCE):
    """Waits until each job makes `count` more iterations or ends."""
    before = iterations(d)

    def made():
        now = iterations(d)
        return all(r.process.poll() is not None or
                   now.get(r.job.name, 0) >= before.get(r.job.name, 0) + count for r in running)
    names = " and ".join(r.job.name for r in running)
    wait_for(f"{names}: {count} iterations more each", made, seconds)


class Count:
    """Measures iterations per second between two moments."""

    def __init__(self, d):
        self.d, self.since, self.before = d, time.monotonic(), iterations(d)

    def rates(self):
        now, seconds = iterations(self.d), time.monotonic() - self.since
        return {n: (now[n] - self.before[n]) / seconds for n in now if n in self.before}
