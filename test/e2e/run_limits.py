#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What one user, or a slow reader of the log, may not do to the others.

    test/e2e/run_limits.py [NAME-PART...]

Needs no CUDA compiler. A test is a function whose name begins with `test_`; it fails by raising.
Those that act as other users need root; elsewhere they are skipped, and counted.
"""
import fcntl
import os
import re
import signal
import socket
import subprocess
import sys
import time
import traceback

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import Daemon, tool, wait_for

GARBAGE = b"this is no hello"


class Skipped(Exception):
    pass


def equal(got, want, what):
    if got != want:
        raise AssertionError(f"{what}: {got!r}, expected {want!r}")


def state(d):
    return d.ctl_json("status")["status"]["state"]


def connect(d, name="job.sock", wait=None):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.settimeout(wait)
    s.connect(os.path.join(d.run_dir, name))
    return s


# ---- the log -------------------------------------------------------------------------------------

class PipedDaemon(Daemon):
    """Its log goes into a pipe, of which `reader` is the end to read."""

    def __enter__(self):
        self.reader, self.writer = os.pipe()
        fcntl.fcntl(self.writer, fcntl.F_SETPIPE_SZ, 4096)
        self.log_file = os.fdopen(os.dup(self.writer), "wb")
        self.process = subprocess.Popen(
            [tool("salusd"), "--run-dir", self.run_dir, *self.options], stdout=self.writer,
            stderr=self.writer, stdin=subprocess.DEVNULL)
        wait_for("salusd is ready", self._ready)
        wait_for("its worker is ready", lambda: state(self) == "ok")
        return self

    def fill(self):
        """Whoever writes into the pipe from now on has to wait for a reader."""
        own = os.open(f"/proc/self/fd/{self.writer}", os.O_WRONLY | os.O_NONBLOCK)
        try:
            while True:
                os.write(own, b"x")
        except BlockingIOError:
            pass
        os.close(own)

    def log(self):
        return ""

    def __exit__(self, *_):
        for fd in ("reader", "writer"):
            if getattr(self, fd) is not None:
                os.close(getattr(self, fd))
        super().__exit__()


def provoke(d, count=1):
    """A client that says nonsense: it is refused, with a record in the log."""
    for _ in range(count):
        s = connect(d, wait=60)
        s.send(GARBAGE)
        if not s.recv(4096):
            raise AssertionError("no refusal came")
        s.close()


def test_log_whose_reader_is_gone():
    with PipedDaemon("--worker-timeout", "3s") as d:
        worker = wait_for("a worker", d.worker_pid)
        os.close(d.reader)
        os.close(d.writer)
        d.reader = d.writer = None
        d.log_file.close()
        provoke(d, 3)
        d.process.send_signal(signal.SIGHUP)
        time.sleep(1.2)  # the records of a second later too
        provoke(d, 3)
        equal(state(d), "ok", "state")
        equal(d.worker_pid(), worker, "worker")
        d.process.terminate()
        equal(d.process.wait(30), 0, "exit status")


def test_log_whose_reader_has_stopped():
    with PipedDaemon("--worker-timeout", "3s") as d:
        worker = wait_for("a worker", d.worker_pid)
        d.fill()
        provoke(d, 20)
        d.process.send_signal(signal.SIGHUP)
        provoke(d, 20)
        equal(state(d), "ok", "state")
        os.kill(worker, signal.SIGKILL)  # the next one has the same log
        wait_for("another worker serves", lambda: d.worker_pid() not in (None, worker)
                 and state(d) == "ok")
        time.sleep(4)  # longer than worker_timeout: a worker that waits for its log is lost
        s = d.ctl_json("status")["status"]
        equal((s["state"], s["worker_restarts"]), ("ok", 1), "state")
        d.process.terminate()
        equal(d.process.wait(30), 0, "exit status")


def test_log_is_not_filled_by_a_client():
    with Daemon() as d:
        wait_for("it is ready", lambda: state(d) == "ok")
        before = len(d.log().splitlines())
        begin = time.monotonic()
        provoke(d, 2000)
        seconds = time.monotonic() - begin
        wait_for("the last are counted", lambda: re.search("suppressed records=|suppressed=", d.log()),
                 10)
        time.sleep(2.5)
        lines = d.log().splitlines()[before:]
        refused = [line for line in lines if "event=refused" in line and "event=suppressed" not in line]
        said = sum(int(n) for n in re.findall(r"suppressed(?: records)?=(\d+)[^\n]*", "\n".join(
            line for line in lines if "event=refused" in line)))
        print(f"    2000 refusals in {seconds:.1f} s, {len(lines)} lines", flush=True)
        equal(said + len(refused), 2000, "refusals written or counted")
        if len(refused) > seconds + 1 or len(lines) > 3 * (seconds + 3):
            raise AssertionError(f"{len(lines)} lines in {seconds:.1f} s:\n" + "\n".join(lines[:40]))


def main():
    tests = [(n, f) for n, f in sorted(globals().items()) if n.startswith("test_") and callable(f)]
    wanted = sys.argv[1:]
    failed = skipped = ran = 0
    for name, test in tests:
        if wanted and not any(w in name for w in wanted):
            continue
        ran += 1
        begin = time.monotonic()
        try:
            test()
            print(f"ok   {name} ({time.monotonic() - begin:.1f} s)", flush=True)
        except Skipped as why:
            skipped += 1
            print(f"SKIPPED {name}: {why}", flush=True)
        except Exception:
            failed += 1
            print(f"FAIL {name}\n{re.sub('^', '    ', traceback.format_exc(), flags=re.M)}", flush=True)
    print(f"limits: {ran - failed - skipped} passed, {failed} failed, {skipped} SKIPPED")
    return 1 if failed or not ran else 0


if __name__ == "__main__":
    sys.exit(main())
