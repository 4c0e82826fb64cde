#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Chaos: kills and stops every process at random times, beside jobs that verify each of their rounds.

    test/e2e/faults/run_chaos.py [--kills N] [--jobs N] [--seed N] [--worker PROGRAM]

Invariants, whatever is killed and when: no job sees a wrong result with success; a job sees an error only if one was
caused for it; no process hangs; and afterwards no processes, descriptors, device memory, lanes or files are left. The
seed is printed. Exit status: 0, or 1 with a report.
"""
import argparse
import collections
import ctypes
import os
import random
import re
import signal
import sys
import time
from datetime import datetime
from subprocess import TimeoutExpired

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from harness import NESTED, PATIENCE, Daemon, wait_for
from verifying import Failed, Job, where

PR_SET_CHILD_SUBREAPER = 36
LANE_POLICIES = ["fair", "fifo", "pack", "srtf"]
KERNEL_POLICIES = ["streams", "temporal", "ticktock", "reef", "orion", "slack"]
QUIET_EVERY = 60  # kills between two checks for leftovers
REPORT_S = 10
ATTACHED = re.compile(r"^(\S+) info client event=attached job=\d+ pid=(\d+)", re.M)


def descriptors(pid):
    """Returns the open descriptors of a process, without those that reading them opens."""
    found = collections.Counter()
    folder = f"/proc/{pid}/fd"
    for fd in os.listdir(folder):
        try:
            found[re.sub(r"\d+", "N", os.readlink(os.path.join(folder, fd)))] += 1
        except FileNotFoundError:
            pass
    return found


def children(own):
    """Returns our processes, including those whose parents died: we are their subreaper. `own` are reaped elsewhere."""
    with open(f"/proc/self/task/{os.getpid()}/children") as f:
        found = {int(pid) for pid in f.read().split()}
    return {pid for pid in found if pid in own or os.waitpid(pid, os.WNOHANG) == (0, 0)}


def name_of(pid):
    try:
        with open(f"/proc/{pid}/comm") as f:
            return f.read().strip()
    except OSError:
        return "gone"


class Chaos:
    def __init__(self, args):
        self.random = random.Random(args.seed)
        self.args = args
        self.daemon = Daemon(*(["--worker", args.worker] if args.worker else []))
        self.options = list(self.daemon.options)
        self.tmp = os.path.join(self.daemon.run_dir, "tmp")
        os.mkdir(self.tmp)
        os.environ["TMPDIR"] = self.tmp  # temporary files are made here, where leftovers are found
        self.shm = set(os.listdir("/dev/shm"))
        self.jobs, self.started = [], 0
        self.count, self.ends, self.rounds, self.hit = collections.Counter(), collections.Counter(), 0, 0
        self.said = time.monotonic()
        self.settled = None  # least number of descriptors of brokers and workers without jobs

    # ---- jobs

    def fill(self):
        while len(self.jobs) < self.args.jobs:
            self.started += 1
            # every third job loads modules, so that many are hit during a load
            does = ("load", "0") if self.started % 3 == 0 else ()
            self.jobs.append(Job(self.daemon, self.started, 1 + self.started % 2, does))

    def reap(self):
        """Judges jobs that ended, and jobs that should have ended."""
        for job in [j for j in self.jobs if j.process.poll() is not None]:
            self.jobs.remove(job)
            how = job.verdict()
            self.ends[how] += 1
            self.rounds += job.rounds
            self.hit += how == "error" and job.rounds > 0

    def end_jobs(self):
        for job in self.jobs:
            job.ask()
        for job in self.jobs:
            job.wait()
        self.reap()

    def blame(self, cause, pids=None):
        for job in self.jobs:
            if pids is None or job.pid in pids:
                job.causes.append(cause)

    # ---- faults

    def victim(self):
        return self.random.choice(self.jobs)

    def worker(self):
        return wait_for("there is a worker", self.daemon.worker_pid)

    def signal(self, pid, sig):
        """Sends a signal. A process that has gone already ended by an earlier fault."""
        try:
            os.kill(pid, sig)
        except ProcessLookupError:
            pass

    def kill_broker(self, sig, how="broker"):
        self.blame(how)
        self.daemon.process.send_signal(sig)
        try:
            status = self.daemon.process.wait(PATIENCE)
        except TimeoutExpired:
            raise Failed(f"salusd does not end: {where(self.daemon.process.pid)}") from None
        if sig == signal.SIGTERM and status != 0:
            raise Failed(f"salusd ended with status {status} when told to")
        self.daemon.log_file.close()
        self.boot()

    def do_broker_kill(self):
        self.kill_broker(signal.SIGKILL)

    def do_broker_term(self):
        self.kill_broker(signal.SIGTERM)

    def do_worker_kill(self):
        self.blame("worker")
        # Not SIGSEGV, which a sanitizer would take for the worker's own error.
        self.signal(self.worker(),
                    self.random.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGABRT]))

    def do_both_kill(self):
        self.blame("both")
        self.signal(self.worker(), signal.SIGKILL)
        self.kill_broker(signal.SIGKILL, "both")

    def do_broker_kill_beside_a_stopped_worker(self):
        """The connections close while sent messages are still unread."""
        worker = self.worker()
        self.signal(worker, signal.SIGSTOP)
        time.sleep(self.random.uniform(0, 0.05))
        self.blame("broker")
        self.daemon.process.kill()
        self.daemon.process.wait()
        time.sleep(self.random.uniform(0, 0.1))
        self.signal(worker, signal.SIGCONT)
        self.kill_broker(signal.SIGKILL)

    def do_job_kill(self):
        self.victim().kill()

    def do_job_kill_by_command(self):
        listed = self.daemon.jobs()
        if not listed:
            return
        job = self.random.choice(listed)
        self.blame("job kill", {job["pid"]})
        self.daemon.ctl("job", "kill", str(job["id"]), check=False)  # the job may have ended meanwhile

    def pause(self, pid):
        self.signal(pid, signal.SIGSTOP)
        time.sleep(self.random.uniform(0.01, 0.2))
        self.signal(pid, signal.SIGCONT)

    def do_broker_stop(self):
        self.pause(self.daemon.process.pid)

    def do_worker_stop(self):
        self.pause(self.worker())

    def do_job_stop(self):
        self.pause(self.victim().pid)

    def await_another(self, since):
        """Waits for a worker that the driver has attached since then: a new one, because a worker learns from its busy
        jobs that its driver is gone, or one that was connecting then and that the next driver serves."""
        def there():
            worker = self.daemon.worker_pid()
            attached = [datetime.fromisoformat(when) for when, pid in ATTACHED.findall(self.daemon.below.log())
                        if int(pid) == worker]
            return any(when.timestamp() > since for when in attached) or any(
                job["pid"] == worker and job["since_seconds"] > since for job in self.daemon.below.jobs())
        wait_for("there is another worker", there)

    def do_below_worker_kill(self):
        """Kills the worker below, which is the GPU of the worker above: the context is lost, and with it the worker
        above."""
        below = wait_for("there is a worker below", self.daemon.below.worker_pid)
        self.blame("below")
        self.signal(below, signal.SIGKILL)
        since = time.time()
        self.await_another(since)

    def do_below_broker_kill(self):
        """Kills the driver and its GPU for a while."""
        below = self.daemon.below
        self.blame("below")
        below.process.kill()
        below.process.wait()
        since = time.time()
        below.log_file.close()
        below.boot()
        self.await_another(since)

    KINDS = {"broker_kill": 4, "broker_term": 3, "worker_kill": 2, "both_kill": 1,
             "broker_kill_beside_a_stopped_worker": 1, "job_kill": 4, "job_kill_by_command": 5,
             "broker_stop": 1, "worker_stop": 1, "job_stop": 1}
    if NESTED:
        KINDS.update(below_worker_kill=2, below_broker_kill=1)

    # ---- leftovers

    def daemons(self):
        return [d for d in (self.daemon, self.daemon.below) if d and d.running()]

    def own(self):
        """Returns the processes that we started; each is waited for where it ends."""
        return {d.process.pid for d in self.daemons()}

    def boot(self):
        """Starts again in the same run directory, with other policies."""
        choice = ["--lane-policy", self.random.choice(LANE_POLICIES),
                  "--kernel-policy", self.random.choice(KERNEL_POLICIES)]
        self.daemon.options = self.options + choice
        self.daemon.boot()
        wait_for("the worker is ready", lambda: self.daemon.ctl_json("gpu", "list")["gpus"][0]["memory_bytes"] > 0)

    def look(self):
        """Returns the open descriptors of each daemon and its worker."""
        found = []
        for d in self.daemons():
            both = [descriptors(d.process.pid), descriptors(wait_for("there is a worker", d.worker_pid))]
            if self.daemon.below:  # descriptors keep every chunk that was made; nested ones are held through sockets
                for one in both:
                    del one["socket:[N]"]
            found += both
        return found

    def settle(self):
        """Records the descriptors that are open without jobs; a connection that just ended may still be open."""
        self.settled = self.look()
        for _ in range(20):
            time.sleep(0.05)
            self.settled = [least & now for least, now in zip(self.settled, self.look())]

    def more(self):
        return [now - least for now, least in zip(self.look(), self.settled)]

    def check_quiet(self):
        """Without jobs, nothing of the jobs may be left."""
        self.end_jobs()
        try:
            wait_for("all jobs have left", lambda: not self.daemon.jobs())
            wait_for("all device memory is back",
                     lambda: self.daemon.ctl_json("gpu", "list")["gpus"][0]["memory_used_bytes"] == 0)
            wait_for("all lanes are gone", lambda: not self.daemon.ctl_json("lane", "list")["lanes"])
            wait_for("the descriptors are those of the beginning", lambda: not any(self.more()))
            wait_for("no process is left over", lambda: children(self.own()) == self.own())
        except AssertionError as e:
            left = [(pid, name_of(pid)) for pid in children(self.own())]
            raise Failed(f"{e}\njobs {self.daemon.jobs()}\ngpu {self.daemon.ctl_json('gpu', 'list')}\n"
                         f"lanes {self.daemon.ctl_json('lane', 'list')}\n"
                         f"more descriptors than at first {self.more()}\nchildren {left}") from None

    def check_gone(self, files):
        """After the daemon's orderly end, its run directory is as that of a daemon that served no job."""
        status = self.daemon.process.wait(PATIENCE)
        if status:
            raise Failed(f"salusd ended with status {status}")
        wait_for("no process is left", lambda: children(self.own()) == self.own())
        left = set(os.listdir(self.daemon.run_dir)) - files
        if left or os.listdir(self.tmp):
            raise Failed(f"files are left: {sorted(left)} {os.listdir(self.tmp)}")
        shm = [f for f in set(os.listdir("/dev/shm")) - self.shm if "salus" in f]
        if shm:
            raise Failed(f"/dev/shm has {shm}")

    # ---- the run

    def say(self):
        self.said = time.monotonic()
        print(f"    {sum(self.count.values())} of {self.args.kills}: {self.rounds} rounds verified, "
              f"{self.hit} jobs ended in mid-work, {dict(self.ends)}", flush=True)

    def step(self):
        kinds = list(self.KINDS)
        kind = self.random.choices(kinds, [self.KINDS[k] for k in kinds])[0]
        self.fill()
        time.sleep(self.random.uniform(0, 0.25))
        self.reap()
        self.fill()
        self.count[kind] += 1
        getattr(self, "do_" + kind)()
        self.reap()
        if time.monotonic() - self.said > REPORT_S:
            self.say()

    def run(self):
        """First runs a daemon without jobs, to see what an orderly end leaves."""
        with self.daemon:
            self.daemon.process.terminate()
            self.daemon.process.wait(PATIENCE)
            files = set(os.listdir(self.daemon.run_dir)) | {"profiles", "kernels", "worker.events"}
            self.boot()
            warm = Job(self.daemon, 0)  # some descriptors open with the first job and stay
            wait_for("the first job is there", lambda: self.daemon.jobs() or warm.process.poll() is not None)
            self.jobs = [warm]
            self.end_jobs()
            wait_for("the first job has left", lambda: not self.daemon.jobs())
            self.settle()
            for i in range(self.args.kills):
                self.step()
                if (i + 1) % QUIET_EVERY == 0:
                    self.check_quiet()
            self.check_quiet()
            self.daemon.process.terminate()
            self.check_gone(files)
        self.say()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--kills", type=int, default=40)
    p.add_argument("--jobs", type=int, default=6)
    p.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 31))
    p.add_argument("--worker", help="path of another salus-gpu to test")
    args = p.parse_args()
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    print(f"chaos: {args.kills} kills beside {args.jobs} jobs, --seed {args.seed}", flush=True)
    chaos = Chaos(args)
    begin = time.monotonic()
    try:
        chaos.run()
    except (Failed, AssertionError) as e:
        print(f"chaos: FAILED after {sum(chaos.count.values())} kills, --seed {args.seed}: {e}\n"
              f"last: {dict(chaos.count)}", flush=True)
        return 1
    finally:
        for job in chaos.jobs:
            job.process.kill()
            job.process.wait()
        for pid in children(set()):  # leftovers of a wrong worker end with its test
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
    if not chaos.hit:
        print("chaos: FAILED: no job was ever hit in mid-work, so nothing was tried")
        return 1
    print(f"chaos: 0 wrong, 0 hangs, nothing left after {dict(chaos.count)} in {time.monotonic() - begin:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
