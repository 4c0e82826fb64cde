#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests two users: nothing that one leaves in memory is ever visible to the other.

    test/e2e/users/run_users.py [--long] [--list] [NAME-PART...]

The program `secret` fills all memory that a job can reach, and searches all memory that it gets and has not written for
the other user's secret. Each user is a uid of its own, so the tests need root; without it they are counted as skipped.
A control test checks that jobs of one user do find each other's secrets.
"""
import os
import signal
import socket
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from harness import BUILD, ON_DRIVER, PATIENCE, Daemon, program, run_tests, tool, wait_for

LONG = "--long" in sys.argv
ALICE, BOB = 60001, 60002 # the users need not exist
SECRETS = {ALICE: "a11ce5ec4e7f00d5", BOB: "b0b5ec4e7beefcaf"}
ROUNDS = 6 if LONG else 3
MIBS = 8 if LONG else 4
P, E = MIBS * 12 + 96, MIBS * 12 # MiB of a job
WORD = {"SALUS_MARK": "1", "SALUS_PERSISTENT": f"{P}MiB", "SALUS_EPHEMERAL": f"{E}MiB"}
ROOM = ("--device-memory", "1GiB", "--window-host-bytes", "1GiB")
# Kernels on a real GPU can reach all users' memory. So it serves one user at a time, unless this option is set.
BOTH = ("--share-users", "yes") if ON_DRIVER else ()


def require(condition, what):
    if not condition:
        raise AssertionError(what)


class Shared(Daemon):
    """A daemon that other users can reach like an installed one: they may enter its run directory, job.sock is open to
    all, and ctl.sock to its group."""

    def __enter__(self):
        os.chmod(self.run_dir, 0o755)
        return super().__enter__()

    def job(self, uid, *argv, word=WORD, fds=(), **env):
        p = subprocess.Popen(argv, env=self.environment(**word, **env), text=True, errors="replace",
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             user=uid, group=uid, extra_groups=[], cwd="/", pass_fds=fds)
        p.uid = uid
        return p

    def secret(self, uid, rounds=ROUNDS, theirs=None, **env):
        """Starts a job that holds its memory until done() or kill()."""
        other = theirs or SECRETS[ALICE if uid == BOB else BOB]
        return self.job(uid, program("secret"), SECRETS[uid], other, str(rounds), str(MIBS), **env)

    def ctl_as(self, uid, *args):
        """Runs salusctl as a member of the control socket's group, which here is root's."""
        return subprocess.run([tool("salusctl"), "--run-dir", self.run_dir, *args], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE,
                              user=uid, group=0, extra_groups=[], cwd="/")


def filled(p, d):
    """Waits until the job has finished all its rounds. Returns its last line."""
    lines, hangs = [], threading.Timer(5 * PATIENCE, p.kill)  # there are many, and the job may have waited for others
    hangs.start()
    for line in p.stdout:
        lines.append(line)
        if line.startswith("secret:"):
            hangs.cancel()
            return line.strip()
    hangs.cancel()
    if p.stdin.closed: p.stdin = None
    _, err = p.communicate()
    raise AssertionError(f"user {p.uid} ended with {p.returncode} before it was done:\n"
                         f"{''.join(lines)}{err}\n{d.log()[-3000:]}")


def done(p, want=0):
    """Checks that the job ended and found nothing, or everything that it should find."""
    if p.stdin.closed: p.stdin = None
    _, err = p.communicate("" if p.stdin else None, timeout=PATIENCE)
    require(p.returncode == want, f"user {p.uid}: exit {p.returncode}, expected {want}\n{err}")


def kill(p):
    p.send_signal(signal.SIGKILL)
    p.communicate()


def seen(line):
    return int(line.split()[1])


# ---- one after the other, and side by side ----------------------------------------------------------

def test_nothing_is_left_by_a_job_that_ended():
    with Shared("--device-memory", f"{P + E + 16}MiB", "--window-host-bytes", "1GiB") as d:
        for uid in (ALICE, BOB, ALICE):
            p = d.secret(uid)
            words = seen(filled(p, d))
            require(words > 1000000, f"it only looked at {words} words")
            done(p)


def test_nothing_is_left_by_a_job_that_was_killed():
    with Shared("--device-memory", f"{P + E + 16}MiB", "--window-host-bytes", "1GiB") as d:
        for _ in range(6 if LONG else 2):
            p = d.secret(ALICE)
            filled(p, d)
            kill(p)
            p = d.secret(BOB, rounds=1)
            filled(p, d)
            done(p)


def test_what_one_user_lends_is_not_there_for_another():
    """The handles are in a file that both users can read, but only processes of the lender's user can open them."""
    for uid, want in ((BOB, "memory 205 event 205\n"), (ALICE, "memory 0 event 0\n")):
        with Shared(*ROOM, *BOTH) as d:
            path = os.path.join(d.run_dir, "handles")
            with open(path, "w"):
                os.chmod(path, 0o666)
            lender = d.job(ALICE, program("ipc"), "lend", path)
            require(lender.stdout.readline() == "lent\n", "nothing was lent")
            p = d.job(uid, program("ipc"), "stranger", path)
            out, err = p.communicate(timeout=PATIENCE)
            require(out == want, f"user {uid} got {out!r}, expected {want!r}\n{err}")
            done(lender)


def test_descriptors_of_one_user_open_nothing_for_another():
    """A user may receive another user's descriptor, which keeps that memory beyond its owner's end, but cannot open
    it."""
    for uid, want in ((BOB, 1), (ALICE, 0)):
        with Shared(*ROOM, *BOTH) as d:
            ends = socket.socketpair()
            lender, opener = (d.job(who, program("heirs"), how, str(end.fileno()), fds=[end.fileno()])
                              for who, how, end in zip((ALICE, uid), ("lend", "open"), ends))
            require(lender.stdout.readline() == "lent\n", "nothing was lent")
            require(opener.stdout.readline() == "got\n", "nothing came")
            for end in ends:
                end.close()
            kill(lender)
            kept = lambda: d.ctl_json("gpu", "list")["gpus"][0]["kept_bytes"]
            wait_for("the descriptor keeps it", lambda: kept() == 2 << 20)
            out, err = opener.communicate(timeout=PATIENCE)
            require(out == f"opening it gives {want}\n", f"user {uid} got {out!r}\n{err}")
            wait_for("it is gone", lambda: kept() == 0)


def side_by_side(*options, users=(ALICE, BOB), rounds=ROUNDS, leave=False):
    """Runs all jobs at once. Returns their records in the history. `leave`: each ends when it is done."""
    with Shared(*options) as d:
        jobs = [d.secret(uid, rounds, SALUS_JOB_NAME=f"user{uid}") for uid in users]
        for p in jobs:
            if leave: p.stdin.close()
        for p in jobs:
            filled(p, d)
        for p in jobs:
            done(p)
        wait_for("they ended", lambda: len(d.ctl_json("history")["history"]) == len(users))
        return d.ctl_json("history")["history"]


def test_nothing_is_seen_of_a_job_beside():
    for policy in ("fair", "srtf", "pack") if LONG else ("fair",):
        side_by_side(*ROOM, *BOTH, "--lane-policy", policy)


def test_users_wait_rather_than_share_a_lane():
    """There is room for one lane: the second user's job waits until the first user's jobs have left. On a real GPU it
    waits whatever the number of lanes."""
    with Shared(*ROOM, *(() if ON_DRIVER else ("--max-lanes", "1"))) as d:
        a = d.secret(ALICE, SALUS_JOB_NAME="a")
        filled(a, d)
        a2, b = d.secret(ALICE, SALUS_JOB_NAME="a2"), d.secret(BOB, SALUS_JOB_NAME="b")
        filled(a2, d)
        waiting = [j["name"] for j in d.jobs() if j["state"] == "waiting"]
        require(waiting == ["b"], f"{waiting} wait")
        done(a)
        done(a2)
        filled(b, d)
        done(b)


# ---- one lane for all, by configuration -------------------------------------------------------------

SHARE = (*ROOM, "--max-lanes", "1", "--share-users", "yes")


def test_a_lane_that_users_share_is_cleared_between_them():
    for policy in ("fair", "srtf") if LONG else ("fair",):
        ended = side_by_side(*SHARE, "--lane-policy", policy)
        cleared = {j["name"]: j["cleared_bytes"] for j in ended}
        print(f"    {policy}: switches {[j['switches'] for j in ended]},"
              f" cleared MiB {[c >> 20 for c in cleared.values()]}", flush=True)
        require(sum(cleared.values()) > 0, "nothing was cleared")


def test_and_so_when_turns_are_lost_within_iterations():
    """The lease is far shorter than an iteration, so a job's memory in the lane is spilled."""
    for rounds in (1, 6, 36): # more rounds if one job began when the other was about to end
        ended = side_by_side(*SHARE, "--lease", "5ms", "--lease-factor", "1", rounds=rounds)
        if any(j["switched_bytes"] for j in ended):
            break
    print(f"    spilled MiB {[j['switched_bytes'] >> 20 for j in ended]}", flush=True)
    require(sum(j["switched_bytes"] for j in ended) > 0, "nothing was spilled")


def test_and_so_when_memory_goes_to_the_host():
    """The persistent memory of two jobs fits, that of three does not."""
    for rounds in (6, 24, 96): # more rounds if one job began when the others were about to end
        ended = side_by_side("--device-memory", f"{2 * P + E + 8}MiB", "--window-host-bytes", "1GiB",
                             "--max-lanes", "1", "--share-users", "yes", "--swap", "yes", "--lease", "20ms",
                             users=(ALICE, BOB, ALICE), rounds=rounds, leave=True)
        if any(j["swaps"] for j in ended):
            break
    print(f"    swaps {[j['swaps'] for j in ended]}", flush=True)
    require(sum(j["swaps"] for j in ended) > 0, "nobody was swapped")


def test_and_so_when_they_are_killed():
    with Shared(*SHARE) as d:
        stays = d.secret(BOB, rounds=1)
        filled(stays, d)
        for _ in range(8 if LONG else 2):
            p = d.secret(ALICE, rounds=1)
            filled(p, d)
            kill(p)
            p = d.secret(BOB, rounds=1)
            filled(p, d)
            done(p)
        done(stays)


def of_one_user(*options):
    """Returns the exit status and errors of a job that searches for another job of the same user; status 3: it found
    something."""
    with Shared(*ROOM, "--max-lanes", "1", *options) as d:
        first = d.secret(ALICE, rounds=1)
        filled(first, d)
        second = d.secret(ALICE, rounds=1, theirs=SECRETS[ALICE])
        filled(second, d)
        _, err = second.communicate("", timeout=PATIENCE)
        done(first)
        return second.returncode, err


def test_the_program_finds_what_there_is_to_find():
    """A control test: jobs of one user do see each other's leftovers in a lane. A job's own leftovers count as well,
    and clear=always does not change that."""
    code, err = of_one_user()
    require(code == 3 and "cudaMallocAsync" in err, f"exit {code}\n{err}")


# ---- what a user is told about another ---------------------------------------------------------------

def test_kernels_are_their_users_own():
    with Shared(*ROOM) as d:
        p = d.secret(ALICE)
        filled(p, d)
        done(p)
        wait_for("it was told", lambda: "fill" in d.ctl("profile", "list").stdout)
        mine = d.ctl_as(ALICE, "profile", "list")
        require("fill" in mine.stdout, f"not her own: {mine.stdout}{mine.stderr}")
        for args in (["profile", "list"], ["profile", "list", "--user", str(ALICE)],
                     ["profile", "show", "fill"], ["profile", "export"],
                     ["profile", "export", "--user", str(ALICE)]):
            got = d.ctl_as(BOB, *args)
            require("fill" not in got.stdout + got.stderr.replace("'fill'", ""),
                    f"{args}: {got.stdout}{got.stderr}")
        got = d.ctl_as(BOB, "profile", "export", "--user", str(ALICE))
        require(got.returncode == 5, f"exit {got.returncode}: {got.stderr}")


def test_nvml_shows_a_user_his_own():
    """A user sees their own processes; of the others they see only that memory is not free. A reader without a job sees
    the same, also as root."""
    reader = os.path.join(BUILD, "test", "e2e", "nvml_reader")
    with Shared(*ROOM, *BOTH) as d:
        jobs = {uid: d.secret(uid) for uid in (ALICE, BOB)}
        for p in jobs.values():
            filled(p, d)
        used = {j["uid"]: j["memory_bytes"] for j in d.jobs()}
        granted = d.ctl_json("gpu", "list")["gpus"][0]["granted_bytes"]
        for uid in (ALICE, BOB, 0):
            p = d.job(uid, reader)
            out, err = p.communicate("", timeout=PATIENCE)
            require(p.returncode == 0, f"user {uid}: exit {p.returncode}: {out}{err}")
            want = f"used={granted} busy="  # memory that a new job could not get
            require(want in out, f"user {uid}: {out}, expected {want}")
            want = f"processes={jobs[uid].pid}:{used[uid]}\n" if uid else "processes=\n"
            require(out.endswith(want), f"user {uid}: {out}, expected {want}")
        for p in jobs.values():
            done(p)


def main():
    if os.getuid() != 0:
        print("SKIPPED: tests of two users need root; skipped: 1")
        return 0
    if LONG:
        sys.argv.remove("--long")
    return run_tests(globals())


if __name__ == "__main__":
    sys.exit(main())
