#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shows what a command finds when it is started directly or under `salusctl run`: see run_transparent.py.

    probe.py signals            takes every signal, and writes number and code of each; SIGUSR2 ends it
    probe.py facts              writes everything that it inherited
    probe.py exit N | die N     ends with status N, or by signal N
    probe.py eof                closes its standard input and output, and waits for a byte from descriptor 3
    probe.py stubborn           ignores SIGTERM, and waits for ever
"""
import os
import resource
import signal
import sys
import time

NOT_TAKEN = {signal.SIGKILL, signal.SIGSTOP, 32, 33}  # the last two belong to the C library


def say(*words):
    print(*words, flush=True)


def signals():
    every = set(range(1, signal.SIGRTMAX + 1)) - NOT_TAKEN
    signal.pthread_sigmask(signal.SIG_SETMASK, every)
    say("pid", os.getpid())
    while True:
        info = signal.sigwaitinfo(every)
        say(int(info.si_signo), info.si_code)
        if info.si_signo == signal.SIGUSR2:
            return 0


def ignored():
    return [n for n in range(1, signal.SIGRTMAX + 1) if n not in (32, 33) and signal.getsignal(n) == signal.SIG_IGN
            and n not in (signal.SIGPIPE, signal.SIGXFSZ)]  # Python itself ignores these


def facts():
    old = os.umask(0)
    os.umask(old)
    say("umask", oct(old))
    say("nice", os.nice(0))
    say("group", os.getpgrp() == int(os.environ["PROBE_GROUP"]), "session", os.getsid(0) == int(os.environ["PROBE_SESSION"]))
    say("directory", os.getcwd())
    for limit in ("NOFILE", "CORE", "STACK", "AS", "CPU", "FSIZE", "MEMLOCK", "NPROC"):
        say(limit, resource.getrlimit(getattr(resource, "RLIMIT_" + limit)))
    say("mask", sorted(int(n) for n in signal.pthread_sigmask(signal.SIG_BLOCK, [])))
    say("ignored", ignored())
    listed = set(os.listdir("/proc/self/fd"))
    say("descriptors", sorted(int(f) for f in listed if os.path.exists(f"/proc/self/fd/{f}")))
    with open("/proc/self/cgroup") as f:
        say(f.read())
    return 0


def main():
    what = sys.argv[1]
    if what == "signals":
        return signals()
    if what == "facts":
        return facts()
    if what == "exit":
        return int(sys.argv[2])
    if what == "die":
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.signal(int(sys.argv[2]), signal.SIG_DFL) if int(sys.argv[2]) != signal.SIGKILL else None
        os.kill(os.getpid(), int(sys.argv[2]))
        time.sleep(60)
    if what == "eof":
        os.dup2(os.open("/dev/null", os.O_RDWR), 0)
        os.dup2(0, 1)
        os.read(3, 1)
        return 0
    if what == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        say("pid", os.getpid())
        while True:
            time.sleep(60)
    return 2


if __name__ == "__main__":
    sys.exit(main())
