#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long jobs wait for each other's admission, on the software GPU, with the defaults of salusd.

    test/bench/sharing/admission.py [--ranks N,...] [--jobs N] [--users N] [--seconds S] [--rounds N] [--queues]

BUILD is the folder of the programs; as root, jobs belong to other users. Prints two tables:

  - ranks of one command that meet at a barrier: the time until all are there, the least and the median of the rounds;
  - jobs of many users that are all started at once. Each is a `salusctl run` with its own number, has 4 MiB and
    sleeps for --seconds. Columns: how many ended well, when the last one ended, and the earliest and the latest end
    of the users' last jobs. --queues: the same where one user has started half of them before all others come.
"""
import argparse
import os
import re
import resource
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "e2e", "lib"))
from harness import BUILD, Soft, checksum_of, program  # noqa: E402

FIRST_UID = 54400
MET = re.compile(r"ranks met after ([0-9.]+) ms")
LIMIT_S = 900


class Open(Soft):
    """With the default for jobs of unknown reservation, and accessible to all users."""
    UNKNOWN = "0"

    def __enter__(self):
        os.chmod(self.run_dir, 0o755)
        return super().__enter__()


def processor_s(pid):
    with open(f"/proc/{pid}/stat") as f:
        words = f.read().rsplit(")", 1)[1].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def met_ms(d, ranks, run):
    done = d.run([program("ranks"), str(ranks)], seconds=LIMIT_S, SALUS_RUN=str(run))
    checksum_of(done, d)
    return float(MET.search(done.stderr).group(1))


def measure_ranks(counts, rounds):
    print(f"{'ranks':>6} {'least ms':>10} {'median ms':>10}")
    for ranks in counts:
        with Open() as d:
            times = [met_ms(d, ranks, run + 1) for run in range(rounds)]
        print(f"{ranks:6} {min(times):10.1f} {statistics.median(times):10.1f}", flush=True)


class Crowd:
    """Jobs of several users, and when each ended."""

    def __init__(self, d, seconds):
        self.d, self.seconds, self.running, self.ended, self.failed = d, seconds, [], {}, []
        self.begin = time.monotonic()

    def start(self, user, count):
        own = {"user": FIRST_UID + user, "group": FIRST_UID + user, "extra_groups": []} if os.getuid() == 0 else {}
        for _ in range(count):
            env = self.d.environment(SALUS_RUN=str(1000 + len(self.running)))
            p = subprocess.Popen([program("paced"), "1", "1", "0", str(int(self.seconds * 1e6)), "4", "4"], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.PIPE, text=True, **own)
            self.running.append((user, p))

    def wait(self):
        left = dict(enumerate(self.running))
        while left:
            for i, (user, p) in list(left.items()):
                if p.poll() is None:
                    continue
                del left[i]
                self.ended.setdefault(user, []).append(time.monotonic() - self.begin)
                if p.returncode:
                    self.failed.append((p.stderr.read().strip().splitlines() or ["no word"])[-1])
                p.stderr.close()
            time.sleep(0.01)


def measure_crowd(what, jobs, users, seconds, flood):
    """flood: number of the first user's jobs that come before all others"""
    with Open() as d:
        crowd = Crowd(d, seconds)
        crowd.start(0, flood)
        for user in range(1 if flood else 0, users):
            crowd.start(user, (jobs - flood) // (users - (1 if flood else 0)))
        started = time.monotonic() - crowd.begin
        crowd.wait()
        last = [max(ends) for user, ends in crowd.ended.items() if not flood or user]
        count = len(crowd.running)
        print(f"{what}: {count} jobs of {users} users, started within {started:.1f} s: "
              f"{count - len(crowd.failed)} ended well, all after {max(map(max, crowd.ended.values())):.1f} s; users' last "
              f"jobs after {min(last):.1f} to {max(last):.1f} s; the broker took "
              f"{processor_s(d.process.pid):.1f} s of a processor", flush=True)
        for line in sorted(set(crowd.failed))[:4]:
            print(f"    {crowd.failed.count(line)}: {line}")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--ranks", default="2,6,12,32")
    p.add_argument("--jobs", type=int, default=1000)
    p.add_argument("--users", type=int, default=20)
    p.add_argument("--seconds", type=float, default=4)
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--queues", action="store_true")
    o = p.parse_args()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    print(f"{BUILD}, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}", flush=True)
    if o.ranks:
        measure_ranks([int(n) for n in o.ranks.split(",")], o.rounds)
    if o.jobs:
        measure_crowd("at once", o.jobs, o.users, o.seconds, 0)
    if o.jobs and o.queues:
        measure_crowd("one user first", o.jobs, o.users, o.seconds, o.jobs // 2)


if __name__ == "__main__":
    main()
