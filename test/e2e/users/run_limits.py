#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests the limits on the harm that a user, or a slow reader of the log, can do to others.

    test/e2e/users/run_limits.py [NAME-PART...]

Needs no CUDA compiler. A test is a function whose name begins with `test_`; it fails by raising. Tests that act as
other users need root; otherwise they are counted as skipped.
"""
import errno
import fcntl
import mmap
import os
import re
import resource
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from harness import BUILD, PATIENCE, Daemon, Skipped, run_tests, tool, wait_for

GARBAGE = b"this is no hello"
MAGIC = 0x554c4153  # constants of proto/wire/wire.h, which also describes the layouts
HELLO = struct.Struct("<IHHQiI64s QQIIiIQQQQQ32s")
USED = 144  # offset of wire_submission.used
ANSWER = struct.Struct("<II")
QUESTION_MAGIC, QUESTION = 0x3f4c4153, struct.Struct("<IHHQ")
VERIFIER = [sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "verifier.py"),
            os.path.join(BUILD, "shim", "libcuda.so.1")]


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
    """A daemon whose log goes into a pipe; `reader` is the end to read."""

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
        """Fills the pipe, so that the next writer has to wait for a reader."""
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
    """Connects and sends garbage; the client is refused, with a record in the log."""
    for _ in range(count):
        s = connect(d, wait=PATIENCE)
        s.send(GARBAGE)
        if not s.recv(4096):
            raise AssertionError("no refusal came")
        s.close()


def test_log_whose_reader_is_gone():
    with PipedDaemon() as d:
        worker = wait_for("a worker", d.worker_pid)
        os.close(d.reader)
        os.close(d.writer)
        d.reader = d.writer = None
        d.log_file.close()
        provoke(d, 3)
        d.process.send_signal(signal.SIGHUP)
        time.sleep(1.2)  # also records that come a second later
        provoke(d, 3)
        equal(state(d), "ok", "state")
        equal(d.worker_pid(), worker, "worker")
        d.process.terminate()
        equal(d.process.wait(PATIENCE), 0, "exit status")


def restarts_beside_a_reader_that_has_stopped():
    """Kills the worker first; the restarts after that are the daemon's own."""
    with PipedDaemon("--worker-timeout", "3s") as d:
        worker = wait_for("a worker", d.worker_pid)
        d.fill()
        provoke(d, 20)
        d.process.send_signal(signal.SIGHUP)
        provoke(d, 20)
        equal(state(d), "ok", "state")
        os.kill(worker, signal.SIGKILL)  # the next worker writes to the same log
        wait_for("another worker serves", lambda: d.worker_pid() not in (None, worker)
                 and state(d) == "ok")
        time.sleep(4)  # longer than worker_timeout: a worker that blocks on its log would be given up
        restarts = d.ctl_json("status")["status"]["worker_restarts"]
        d.process.terminate()
        equal(d.process.wait(PATIENCE), 0, "exit status")
        return restarts


def test_log_whose_reader_has_stopped():
    for _ in range(3):  # repeated: the worker may have been late for another reason
        restarts = restarts_beside_a_reader_that_has_stopped()
        if restarts == 1:
            return
    equal(restarts, 1, "restarts")


def refusals_said(lines):
    """Returns (written, counted) refusals in the log."""
    refused = [line for line in lines if "event=refused" in line and "event=suppressed" not in line]
    return len(refused), sum(int(n) for n in re.findall(r"suppressed(?: records)?=(\d+)[^\n]*", "\n".join(
        line for line in lines if "event=refused" in line)))


def test_log_is_not_filled_by_a_client():
    with Daemon() as d:
        wait_for("it is ready", lambda: state(d) == "ok")
        before = len(d.log().splitlines())
        begin = time.monotonic()
        provoke(d, 2000)
        seconds = time.monotonic() - begin
        wait_for("the last are counted", lambda: sum(refusals_said(d.log().splitlines()[before:])) >= 2000)
        lines = d.log().splitlines()[before:]
        refused, counted = refusals_said(lines)
        print(f"    2000 refusals in {seconds:.1f} s, {len(lines)} lines", flush=True)
        equal(refused + counted, 2000, "refusals written or counted")
        if refused > seconds + 1 or len(lines) > 3 * (seconds + 3):
            raise AssertionError(f"{len(lines)} lines in {seconds:.1f} s:\n" + "\n".join(lines[:40]))


# ---- descriptors ---------------------------------------------------------------------------------

def hello(priority=0, weight=0, persistent=0, ephemeral=0, slo=0, run=0):
    word = persistent or ephemeral
    return HELLO.pack(MAGIC, 1, 1, 0, os.getpid(), 0, b"limits", persistent, ephemeral, 1 if word else 0,
                      weight, priority, run, 0, 0, 0, 0, 0, b"") + (struct.pack("<QII", slo, 0, 0) if slo else b"")


def make_context(submission):
    """Writes what the library writes when its program makes a context; from then on the job is listed."""
    with mmap.mmap(submission, 4096) as page:
        struct.pack_into("<I", page, USED, 1)


def reply(s):
    """Returns (result, text) of the broker's next message; closes descriptors that come with it."""
    try:
        data, fds, _, _ = socket.recv_fds(s, 4096, 8)
    except ConnectionResetError:  # the broker did not read our message, but its own message is there all the same
        data, fds, _, _ = socket.recv_fds(s, 4096, 8)
    if len(fds) == 4:
        make_context(fds[0])
    for fd in fds:
        os.close(fd)
    if not data:
        return None, "closed"
    if len(data) == 264:
        return struct.unpack_from("<i", data, 4)[0], data[8:].split(b"\0")[0].decode()
    return struct.unpack_from("<i", data, 8)[0], data[-256:].split(b"\0")[0].decode()


def join(s, **wishes):
    """Does the whole handshake. Returns (result, text) of its end."""
    try:
        s.send(hello(**wishes))
    except BrokenPipeError:
        pass
    result, text = reply(s)
    if result == 0:
        s.send(ANSWER.pack(MAGIC, 1))
        result, text = reply(s)
    return result, text


class Verifier:
    """A job that compares its results until the `with` block ends."""

    def __init__(self, d, *options, **popen):
        self.process = subprocess.Popen([*VERIFIER, *options], env=d.environment(), text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, **popen)
        self.count = 0

    def __enter__(self):
        return self

    def line(self):
        return self.process.stdout.readline().rstrip("\n")

    def rounds(self, more):
        """Waits for this many more correct rounds."""
        for _ in range(more):
            line = self.line()
            if not line.startswith("round "):
                raise AssertionError(f"a verifying job: {line!r} {self.process.communicate()}")
            self.count = int(line[6:])

    def take(self, mib):
        """Asks the job to allocate more device memory. Returns the answer."""
        self.process.stdin.write(f"{mib}\n")
        self.process.stdin.flush()
        while (line := self.line()).startswith("round "):
            pass
        return line

    def __exit__(self, kind, *_):
        if kind:
            self.process.kill()
        out, err = self.process.communicate("", timeout=PATIENCE)
        if not kind:
            equal((self.process.returncode, err), (0, ""), "a verifying job's end")


def set_limit(pid, n):
    hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)[1]
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (n, hard))


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def ready(d):
    wait_for("it is ready", lambda: state(d) == "ok")
    return wait_for("a worker", d.worker_pid)


def unanswered(d, count):
    """Opens this many connections that send hello and nothing more. Returns the texts of the refusals."""
    socks, refusals = [], []
    for _ in range(count):
        s = connect(d, wait=PATIENCE)
        try:
            s.send(hello())
        except BrokenPipeError:
            pass
        socks.append(s)
    for s in socks:
        result, text = reply(s)
        if result != 0:
            refusals.append(text)
    return socks, refusals


def unanswered_beside_jobs(limit_of):
    with Daemon() as d:
        worker = ready(d)
        with Verifier(d) as a, Verifier(d) as b:
            a.rounds(1)
            b.rounds(1)
            limit_of(d, worker)
            socks, refusals = unanswered(d, 400)
            print(f"    {len(refusals)} of 400 refused: {refusals[-1:]}", flush=True)
            equal(len(refusals) > 0, True, "some are refused")
            for text in refusals:
                if "descriptors" not in text and "Too many open files" not in text:
                    raise AssertionError(f"refused with {text!r}")
            a.rounds(20)
            b.rounds(20)
            status = d.ctl_json("status")["status"]
            equal((status["state"], status["worker_restarts"]), ("ok", 0), "state")
            for s in socks:
                s.close()
            set_limit(worker, 1000)
            with Verifier(d, "--rounds", "2") as c:
                c.rounds(2)
        equal(d.worker_pid(), worker, "worker")


def test_descriptors_run_out_in_the_broker():
    unanswered_beside_jobs(lambda d, worker: set_limit(d.process.pid, 200))


def test_descriptors_run_out_in_the_worker():
    unanswered_beside_jobs(lambda d, worker: set_limit(worker, len(os.listdir(f"/proc/{worker}/fd")) + 2))


def test_descriptors_of_which_none_is_left_cost_no_time():
    """When accept() fails, the listening socket stays readable; the broker must not spin."""
    with Daemon() as d:
        ready(d)
        set_limit(d.process.pid, 5)
        waiting = [connect(d, name) for name in ("job.sock", "ctl.sock") for _ in range(3)]
        before = cpu_seconds(d.process.pid)
        time.sleep(2)
        used = cpu_seconds(d.process.pid) - before
        print(f"    {used:.2f} s of CPU time", flush=True)
        if used > 0.2:
            raise AssertionError(f"{used:.2f} s of CPU time in 2 s")
        set_limit(d.process.pid, 1000)
        equal(state(d), "ok", "state")
        for s in waiting:
            s.close()


def limits_of(pid):
    with open(f"/proc/{pid}/limits") as f:
        return re.search(r"Max open files +(\S+) +(\S+)", f.read()).groups()


def test_descriptors_are_as_many_as_allowed_for_daemons_alone():
    def few():
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))

    script = "ulimit -Sn; for p in $(pgrep -P $PPID); do cat /proc/$p/limits; done"
    r = subprocess.run([tool("salusctl"), "run", "--quiet", "--private", "--", "sh", "-c", script], text=True,
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=few, timeout=PATIENCE)
    equal(r.stdout.splitlines()[0], "256", f"the job's limit {r.stderr}")
    with Daemon() as d:
        worker = ready(d)
        for pid in (d.process.pid, worker):
            soft, hard = limits_of(pid)
            equal(soft, hard, "the daemons' limit")


# The calls in the order of fail_call.c.
CALLS = ("accept4", "memfd_create", "mmap", "eventfd", "sendmsg", "epoll_ctl", "recvmsg")


def fail(path, call, nth, error):
    """Makes the nth call of that name fail in the program of that file. Returns a function that reads the rest of the
    countdown."""
    with open(path, "r+b") as f:
        plans = mmap.mmap(f.fileno(), 0)
    place = 8 * CALLS.index(call)
    plans[place + 4:place + 8] = struct.pack("<i", error)
    plans[place:place + 4] = struct.pack("<i", nth)
    return lambda: struct.unpack_from("<i", plans, place)[0]


def test_descriptors_that_a_single_call_lacks_cost_one_job_at_most():
    """One call fails at a time, in either process. The earlier job continues, and a later one is served."""
    with tempfile.TemporaryDirectory() as dir:
        for name in ("salusd", "salus-gpu"):
            with open(os.path.join(dir, name), "wb") as f:
                f.write(bytes(8 * len(CALLS)))
        os.environ.update(FAIL_DIR=dir, LD_PRELOAD=os.path.join(BUILD, "test", "e2e", "fail_call.so"))
        try:
            d = Daemon()
            d.__enter__()
        finally:
            del os.environ["LD_PRELOAD"]
        try:
            worker = ready(d)
            injected = refused = 0
            with Verifier(d) as v:
                for name in ("salusd", "salus-gpu"):
                    for call in CALLS:
                        for nth in (1, 2, 3, 4):
                            if (name, call) == ("salusd", "epoll_ctl") and nth > 2:
                                continue  # libuv tries each once, and aborts if a later call gives another result
                            for error in (errno.EMFILE, errno.ENOMEM) if call != "sendmsg" else \
                                    (errno.ETOOMANYREFS,):
                                left = fail(os.path.join(dir, name), call, nth, error)
                                s = connect(d, wait=PATIENCE)
                                result, text = join(s)
                                s.close()
                                injected += left() == 0
                                refused += result != 0
                                fail(os.path.join(dir, name), call, 0, 0)
                                if result is None or (result != 0 and not text):
                                    raise AssertionError(f"{name} {call} {nth}: no words")
                                equal(d.process.poll(), None, f"salusd after {name} {call} {nth} {error}")
                                s = connect(d, wait=PATIENCE)
                                equal(join(s), (0, ""), f"the next job after {name} {call} {nth} {error}")
                                s.close()
                                v.rounds(1)
            print(f"    {injected} calls failed, {refused} jobs refused", flush=True)
            if injected < 25 or refused < 15:
                raise AssertionError("too few")
            equal(d.worker_pid(), worker, "worker")
            equal(d.ctl_json("status")["status"]["worker_restarts"], 0, "restarts")
        finally:
            d.__exit__()


# ---- users ---------------------------------------------------------------------------------------

ALICE, BOB, ML = 54321, 54322, 54399  # numbers suffice: the users need not exist


class acting_as:
    """For the kernel, connections made within belong to this user."""

    def __init__(self, uid, *groups):
        self.uid, self.groups = uid, groups

    def __enter__(self):
        if os.getuid() != 0:
            raise Skipped("needs root to act as other users")
        self.before = os.getgroups()
        os.setgroups(self.groups)
        os.setegid(self.uid)
        os.seteuid(self.uid)

    def __exit__(self, *_):
        os.seteuid(0)
        os.setegid(0)
        os.setgroups(self.before)


class OpenDaemon(Daemon):
    """A daemon whose two sockets any user may use, and which does not close silent connections."""

    def __init__(self, *options):
        super().__init__("--handshake-timeout", "600s", "--control-idle", "600s", *options)

    def __enter__(self):
        super().__enter__()
        ready(self)
        os.chmod(self.run_dir, 0o755)
        os.chmod(os.path.join(self.run_dir, "ctl.sock"), 0o666)
        return self


def as_user(uid, d, count, name="job.sock", groups=(), wait=PATIENCE):
    with acting_as(uid, *groups):
        return [connect(d, name, wait=wait) for _ in range(count)]


def join_as(uid, d, groups=(), **wishes):
    """Does a whole handshake as this user. Returns (result, text, socket)."""
    s, = as_user(uid, d, 1, groups=groups)
    return *join(s, **wishes), s


def refusals_of(socks):
    """Returns the texts on those connections that have been refused already."""
    words = []
    for s in socks:
        if select.select([s], [], [], 0)[0]:
            words.append(reply(s)[1])
    return words


def ask(s, verb, **args):
    """Sends one hand-packed request over ctl.sock. Returns the bytes of the reply."""
    def text(t):
        return bytes([0xd9, len(t)]) + t.encode()

    fields = {"v": 1, "verb": verb, **args}
    s.send(bytes([0x80 + len(fields)]) + b"".join(
        text(k) + (text(v) if isinstance(v, str) else b"\xd3" + struct.pack(">q", v))
        for k, v in fields.items()))
    return s.recv(1 << 16)


def contains(text, part, what):
    if part not in text:
        raise AssertionError(f"{what}: {text!r} lacks {part!r}")


def users_of(d):
    """Returns the users with connections; the daemon's list also has earlier users, and users with limits."""
    return {t["uid"]: t for t in d.ctl_json("user", "list")["users"] if t["connections"]}


def close(socks):
    for s in socks:
        s.close()


def test_user_of_silent_connections_holds_up_nobody():
    """One user's silent connections, without and with a hello, never delay another user's job."""
    with OpenDaemon() as d:
        for say in (None, hello()):
            socks = as_user(ALICE, d, 1000)
            for s in socks:
                try:
                    if say:
                        s.send(say)
                except OSError:
                    pass
            result, text, bob = join_as(BOB, d)
            equal((result, text), (0, ""), "another user's job")
            wait_for("all are seen", lambda: (t := users_of(d)[ALICE])["connections"] + t["refused"] == 1000)
            # A connection whose hello the broker has read waits for a place and does not count as silent.
            wait_for("an eighth of the places is theirs; the others wait",
                     lambda: users_of(d)[ALICE]["handshakes"] == (8 if say else 64))
            t = users_of(d)[ALICE]
            equal((t["connections_limit"], t["handshakes_limit"]), (256, 64), "Alice's limits")
            equal(64 <= t["connections"] <= (256 if say else 64), True, f"Alice's connections: {t}")
            if not say:
                words = refusals_of(socks)
                equal(len(words), 936, "refused at once")
                equal(set(words), {f"user_handshakes = 64: user {ALICE} has 64 jobs that are starting, "
                                   "or silent connections; end some, or have root raise the limit "
                                   "in salus.conf(5)"}, "the words")
            bob.close()
            close(socks)
            wait_for("nothing is left", lambda: ALICE not in users_of(d))


def test_user_of_silent_offers_holds_no_memory():
    """Clients that do not answer an offer of windows reserve no memory, however much they asked for."""
    with OpenDaemon("--device-memory", "256MiB", "--unknown-memory", "64MiB", "--handshake-timeout", "600s") as d:
        socks = as_user(ALICE, d, 64)
        for s in socks:
            s.send(hello())
        wait_for("some have windows", lambda: users_of(d)[ALICE]["handshakes"] == 8)
        with Verifier(d, "--uid", str(BOB), "--rounds", "2") as bob:
            bob.rounds(2)
        equal(users_of(d)[ALICE]["connections"], 64, "Alice's connections, still")
        close(socks)


def test_user_of_idle_jobs_leaves_places():
    """The idle jobs of one user do not take every place."""
    with OpenDaemon() as d:
        socks, words = [], []
        for _ in range(64):
            result, text, s = join_as(ALICE, d)
            socks.append(s)
            if result != 0:
                words.append(text)
        equal(len(words), 16, "refused")
        equal(set(words), {f"the process waits for admission: user {ALICE} has 48 jobs (user_jobs = 48), while started "
                           "processes of its run may wait for it; start fewer processes"}, "the words")
        another, = as_user(ALICE, d, 1)
        another.send(hello(run=7))
        wait_for("one of another run waits", lambda: [
            j["why"] for j in d.ctl_json("job", "list")["jobs"] if j["state"] == "waiting"] == [
            f"waits for admission: user {ALICE} has 48 jobs (user_jobs = 48)"])
        result, text, s = join_as(BOB, d)
        equal((result, text), (0, ""), "another user's job")
        equal(users_of(d)[ALICE]["jobs"], 48, "jobs")
        socks[0].close()
        equal(reply(another)[0], 0, "it begins when another one has ended")
        another.close()
        close(socks)
        wait_for("they are gone", lambda: ALICE not in users_of(d))
        equal(join_as(ALICE, d)[:2], (0, ""), "Alice's next job")


def question():
    return QUESTION.pack(QUESTION_MAGIC, 1, 3, 0)


def test_user_of_questions_leaves_nothing_behind():
    """Questions leave nothing behind, whether the user reads the answers or not. A user without a free connection is
    told why."""
    with OpenDaemon() as d:
        socks = []
        for _ in range(10):
            some = as_user(ALICE, d, 50)
            for s in some:
                s.send(question())
            socks += some
            wait_for("all are answered", lambda: ALICE not in users_of(d))
        equal(struct.unpack_from("<I", socks[0].recv(1 << 16))[0], QUESTION_MAGIC, "an answer, late")
        close(socks)
        silent = as_user(ALICE, d, 64)
        late, = as_user(ALICE, d, 1)
        contains(reply(late)[1], "user_handshakes = 64", "the refusal")
        other, = as_user(BOB, d, 1)
        other.send(question())
        equal(struct.unpack_from("<I", other.recv(1 << 16))[0], QUESTION_MAGIC, "another user's answer")
        close(silent + [late, other])
        wait_for("nothing is left", lambda: not {ALICE, BOB} & set(users_of(d)))


def test_user_of_idle_controls_delays_no_status():
    with OpenDaemon() as d:
        socks = as_user(ALICE, d, 1000, "ctl.sock")
        equal(state(d), "ok", "state")
        t = users_of(d)[ALICE]
        equal((t["controls"], t["refused"]), (16, 984), "Alice's connections")
        said = socks[-1].recv(4096)
        contains(said, b"user_controls = 16", "the refusal")
        contains(said, b"\xa4code\xa7refused", "its code, by which salusctl exits with 6")
        contains(ask(socks[0], "status"), b"degraded" if state(d) != "ok" else b"ok", "an old one's answer")
        close(socks)
        # root's control connections have no limit: for a new one, the longest silent one is closed.
        socks = [connect(d, "ctl.sock", wait=PATIENCE) for _ in range(1000)]
        contains(ask(socks[-1], "status"), b"ok", "the latest one's answer")
        equal(state(d), "ok", "state")
        equal(socks[0].recv(1), b"", "the oldest is closed")
        if users_of(d)[0]["controls"] > 256:
            raise AssertionError("more than there are places")


def test_user_of_silent_controls_is_cut_off():
    with Daemon("--control-idle", "200ms") as d:
        s = connect(d, "ctl.sock", wait=PATIENCE)
        contains(ask(s, "status"), b"run_dir", "an answer")
        equal(s.recv(1), b"", "the end")


def test_user_of_many_connections():
    with OpenDaemon("--user-connections", "5", "--user-controls", "3") as d:
        socks = as_user(ALICE, d, 3, "ctl.sock") + as_user(ALICE, d, 3)
        contains(reply(socks[-1])[1], "user_connections = 5", "the refusal")
        equal(join(socks[3]), (0, ""), "one of the first")
        close(socks[:1])
        wait_for("it is seen", lambda: users_of(d)[ALICE]["connections"] == 4)
        equal(join_as(ALICE, d)[:2], (0, ""), "the next")


def test_user_of_rank_needs_the_right():
    """Priority above 0 and weight above 1, at the start of a job and later."""
    with OpenDaemon() as d:
        for wish, words in (({"priority": 1000}, "priority 1000 is above max_priority = 0"),
                            ({"priority": 1}, "priority 1 is above max_priority = 0"),
                            ({"slo": 5}, "priority 1 is above max_priority = 0"),
                            ({"weight": 2}, "weight 2 is above max_weight = 1")):
            result, text, s = join_as(ALICE, d, **wish)
            equal(result, -errno.EPERM, "result")
            contains(text, words, "the refusal")
        result, text, s = join_as(ALICE, d, priority=-5, weight=1)
        equal((result, text), (0, ""), "a lower priority")
        job = d.jobs()[0]["id"]
        control, = as_user(ALICE, d, 1, "ctl.sock")
        contains(ask(control, "job.set", id=job, priority=1), b"above max_priority = 0", "later")
        contains(ask(control, "job.set", id=job, slo_ns=5), b"above max_priority = 0", "a target of latency")
        contains(ask(control, "job.set", id=job, slo_ns=0), b"items", "none")
        contains(ask(control, "job.set", id=job, weight=1000), b"above max_weight = 1", "later")
        equal((d.jobs()[0]["priority"], d.jobs()[0]["weight"]), (-5, 1), "unchanged")
        contains(ask(control, "job.set", id=job, priority=-9), b"items", "what it may")
        d.ctl("job", "set", str(job), "priority=7", "weight=9")
        equal((d.jobs()[0]["priority"], d.jobs()[0]["weight"]), (7, 9), "as root has it")
        result, text, s = join_as(0, d, priority=1000, weight=1000)
        equal((result, text), (0, ""), "root's")
        equal([(e["uid"], e["how"]) for e in d.ctl_json("history")["history"][:4]], [(ALICE, "refused")] * 4,
              "history")


def test_user_and_group_sections():
    text = f"[users]\nuser_jobs = 1\n[group {ML}]\nuser_jobs = 2\nmax_priority = 5\n" \
           f"[user {BOB}]\nuser_jobs = 3\n"
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as f:
        f.write(text)
        f.flush()
        with OpenDaemon("--config", f.name) as d:
            def jobs(uid, groups, count, words):
                socks = [join_as(uid, d, groups) for _ in range(count + 1)]
                equal([r for r, _, _ in socks[:-1]], [0] * count, f"jobs of {uid}")
                contains(socks[-1][1], words, "the refusal")
                return [s for _, _, s in socks]

            close(jobs(ALICE, (), 1, "(user_jobs = 1)"))
            wait_for("gone", lambda: ALICE not in users_of(d))
            close(jobs(ALICE, (7, ML), 2, "(user_jobs = 2)"))
            wait_for("gone", lambda: ALICE not in users_of(d))
            contains(join_as(ALICE, d, (ML,), priority=6)[1], "max_priority = 5", "a group's right")
            equal(join_as(ALICE, d, (ML,), priority=5)[0], 0, "a group's right")
            bobs = jobs(BOB, (ML,), 3, "(user_jobs = 3)")
            with open(f.name, "w") as g:
                g.write(text.replace("= 3", "= 4"))
            d.process.send_signal(signal.SIGHUP)
            wait_for("reloaded", lambda: users_of(d)[BOB]["jobs_limit"] == 4)
            equal(join_as(BOB, d, (ML,))[0], 0, "one more after the reload")
            with open(f.name, "w") as g:
                g.write(text.replace("user_jobs = 3", "user_jobs = 0\nmax_jobs = 5"))
            d.process.send_signal(signal.SIGHUP)
            wait_for("it says why not", lambda: "key 'max_jobs' cannot be set in [user " in d.log())
            close(bobs)


def test_user_is_limited_at_run_time():
    """A user's limit set with salusctl counts at once and until a reload; only root may set it."""
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as f:
        f.write("[users]\nuser_jobs = 2\n")
        f.flush()
        with OpenDaemon("--config", f.name) as d:
            d.ctl("user", "limit", str(ALICE), "user_jobs=1", "max_priority=7")
            first = join_as(ALICE, d, priority=7)
            equal(first[0], 0, "within both")
            contains(join_as(ALICE, d)[1], f"user {ALICE} has 1 jobs (user_jobs = 1)", "one more")
            t = users_of(d)[ALICE]
            equal((t["jobs_limit"], t["max_priority"]), (1, 7), "as shown")
            equal(join_as(BOB, d)[0], 0, "another user's")
            d.process.send_signal(signal.SIGHUP)
            wait_for("a reload ends it", lambda: users_of(d)[ALICE]["jobs_limit"] == 2)
            contains(join_as(ALICE, d, priority=7)[1], "max_priority = 0", "that as well")
            control, = as_user(ALICE, d, 1, "ctl.sock")
            contains(ask(control, "user.limit", uid=ALICE, limits="user_jobs=9"), b"not_permitted", "her own")
            equal(users_of(d)[ALICE]["jobs_limit"], 2, "unchanged")


def test_user_that_comes_and_goes_leaves_nothing():
    """However a connection ends, it is no longer counted afterwards."""
    with OpenDaemon() as d:
        for _ in range(20):
            socks = as_user(ALICE, d, 6) + as_user(ALICE, d, 4, "ctl.sock")
            for s in socks[:2]:
                join(s)
            socks[2].send(hello())
            socks[3].send(GARBAGE)
            socks[7].send(GARBAGE)
            close(socks)
        with acting_as(ALICE):
            pids = []
            for i in range(10):
                pid = os.fork()
                if pid == 0:
                    os.seteuid(0)
                    os.setuid(ALICE)
                    s = connect(d, wait=PATIENCE)
                    join(s) if i % 2 else s.send(hello())
                    os.kill(os.getpid(), signal.SIGKILL)
                pids.append(pid)
        for pid in pids:
            os.waitpid(pid, 0)
        wait_for("nothing is left", lambda: list(users_of(d)) == [0])
        t = users_of(d)[0]
        equal((t["connections"], t["controls"]), (1, 1), "but our own question")
        wait_for("the worker has let go of them", lambda: not d.jobs())


def needs_root():
    if os.getuid() != 0:
        raise Skipped("needs root to act as other users")


def test_user_of_device_memory():
    """The memory granted to all jobs of a user together, as it grows and as it is reserved at the start."""
    needs_root()
    with OpenDaemon("--user-device-memory", "64MiB", "--unknown-memory", "8MiB") as d:
        with Verifier(d, "--uid", str(ALICE), "--device", "48") as first:
            equal(first.line(), "device 0", "within the limit")
            first.rounds(1)
            second = Verifier(d, "--uid", str(ALICE), "--device", "48", "--rounds", "1")
            equal(second.line(), "device 2", "above it")
            second.rounds(1)  # the job continues with the memory that it has
            contains(second.process.communicate("")[1], 'reason="user_device_memory = 64 MiB: the jobs of user 54321',
                     "its own standard error")
            contains(d.log(), 'why="user_device_memory = 64 MiB: the jobs of user 54321 have ', "the log")
            result, text, s = join_as(ALICE, d, persistent=32 << 20)
            equal(result != 0, True, "said beforehand")
            contains(text, "user_device_memory = 64MiB: the jobs of user 54321 have 50 MiB, and this job asks for 32 MiB more",
                     "the refusal")
            contains(str(d.ctl_json("history")), "user_device_memory = 64MiB", "history")
            with Verifier(d, "--uid", str(BOB), "--device", "48", "--rounds", "2") as bob:
                equal(bob.line(), "device 0", "another user")
                bob.rounds(2)
            first.rounds(2)
            t = users_of(d)[ALICE]
            equal((t["device_bytes"], t["device_limit_bytes"]), (50 << 20, 64 << 20), "Alice's")
            d.process.send_signal(signal.SIGHUP)  # the limit is from the command line, so a reload changes nothing
            first.rounds(2)


def test_user_of_idle_memory_makes_room():
    """A suspended job is swapped to host memory when another user's job grows, and loses no data."""
    needs_root()
    with OpenDaemon("--device-memory", "256MiB", "--unknown-memory", "8MiB", "--idle-after", "100ms") as d:
        with Verifier(d, "--uid", str(ALICE), "--device", "180") as alice:
            equal(alice.line(), "device 0", "Alice's memory")
            alice.rounds(1)
            alice.process.send_signal(signal.SIGSTOP)
            with Verifier(d, "--uid", str(BOB), "--device", "150") as bob:
                equal(bob.line(), "device 0", "Bob's memory")
                bob.rounds(2)
                state, = [j["state"] for j in d.ctl_json("job", "list")["jobs"] if j["uid"] == ALICE]
                equal(state, "waiting", "Alice's job, meanwhile")
            alice.process.send_signal(signal.SIGCONT)
            alice.rounds(2)
        wait_for("Alice's job has been in host memory", lambda: any(
            e["swaps"] > 0 for e in d.ctl_json("history")["history"] if e["uid"] == ALICE))


def test_user_of_device_memory_whose_limit_grows():
    needs_root()
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as f:
        f.write("[users]\nuser_device_memory = 32MiB\n")
        f.flush()
        with OpenDaemon("--config", f.name, "--unknown-memory", "8MiB") as d:
            first = Verifier(d, "--uid", str(ALICE), "--device", "10")
            equal(first.line(), "device 0", "within the limit")
            equal(first.take(48), "device 2", "above it")
            with open(f.name, "w") as g:
                g.write("[users]\nuser_device_memory = 128MiB\n")
            d.process.send_signal(signal.SIGHUP)
            wait_for("reloaded", lambda: users_of(d)[ALICE]["device_limit_bytes"] == 128 << 20)
            wait_for("the worker knows as well", lambda: first.take(48) == "device 0")
            first.rounds(1)
            err = first.process.communicate("")[1]
            equal((first.process.returncode, err.count("\n")), (0, 1), "its end, and one line of what was refused")


def test_user_of_pinned_memory():
    """No job sees more pinned memory than its user may have; of several jobs, the one that grew is ended."""
    needs_root()
    with OpenDaemon("--user-pinned", "128MiB") as d:
        large = Verifier(d, "--uid", str(ALICE), "--pinned", "200", "--rounds", "1")
        equal(large.line(), "pinned 2", "more than the limit at once")
        large.rounds(1)
        contains(large.process.communicate("")[1], "200 MiB of pinned memory do not fit into the window of 128 MiB",
                 "standard error")
        with Verifier(d, "--uid", str(ALICE), "--pinned", "90") as first:
            equal(first.line(), "pinned 0", "within the limit")
            first.rounds(1)
            wait_for("it is seen", lambda: users_of(d)[ALICE]["pinned_bytes"] >= 90 << 20)
            second = Verifier(d, "--uid", str(ALICE), "--pinned", "90")
            wait_for("the second is ended", lambda: any(
                e["how"] == "expelled" and "user_pinned = 128MiB: the jobs of user 54321 have" in e["why"]
                and e["pid"] == second.process.pid for e in d.ctl_json("history")["history"]))
            second.process.communicate("")
            equal(second.process.returncode != 0, True, "it is told")
            first.rounds(2)
            with Verifier(d, "--uid", str(BOB), "--pinned", "90", "--rounds", "2") as bob:
                equal(bob.line(), "pinned 0", "another user")
                bob.rounds(2)
            equal([e["uid"] for e in d.ctl_json("history")["history"] if e["how"] == "expelled"], [ALICE],
                  "ended")


if __name__ == "__main__":
    sys.exit(run_tests(dict(globals())))
