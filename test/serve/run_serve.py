#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests salus-serve as a process: models' programs that work, fail and end, and clients that wait or disconnect.

    test/serve/run_serve.py [--serve=PROGRAM] [NAME-PART...]

A test is a function whose name begins with `test_`; it fails by raising.
"""
import contextlib
import http.client
import json
import os
import random
import re
import resource
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "e2e", "lib")]
import tutorial
from harness import BUILD, PATIENCE, ROOT, Daemon, run_tests, wait_for
from triton import triton_python

# --serve=PATH tests another program, such as a mutant.
PROGRAM = next((a.partition("=")[2] for a in sys.argv if a.startswith("--serve=")), os.path.join(BUILD, "salus-serve"))
PROGRAMS = os.path.abspath(os.path.join(BUILD, "test", "serve"))
JSON = {"Content-Type": "application/json"}
TICKS = os.sysconf("SC_CLK_TCK")
ADD = f"""[model add]
program = {PROGRAMS}/adder
salus = no
input = a FP32 -1
input = b FP32 -1
output = y FP32 -1
"""
SLOW = f"""[model slow]
program = {PROGRAMS}/slow
salus = no
input = ms INT32 1
output = y INT32 1
deadline = 1min
"""
TYPES = "BOOL UINT8 UINT16 UINT32 UINT64 INT8 INT16 INT32 INT64 FP16 FP32 FP64 BF16 BYTES".split()
ALL = f"[model all]\nprogram = {PROGRAMS}/mirror\nsalus = no\n" + "".join(f"input = {t} {t} -1\noutput = {t} {t} -1\n" for t in TYPES)


def equal(got, want, what):
    if got != want:
        raise AssertionError(f"{what}: {got!r}, expected {want!r}")


def contains(text, part, what):
    if part not in text:
        raise AssertionError(f"{what}: no {part!r} in {text!r}")


class Serve:
    """The program with these models, ready by default. `files`: the soft and hard limit of descriptors."""

    def __init__(self, models, ready=True, files=None, **env):
        self.folder = tempfile.TemporaryDirectory(prefix="salus-serve-")
        self.log = open(os.path.join(self.folder.name, "log"), "w+")
        conf = write(self.folder.name, "[front]\nport = 0\n" + models)
        self.process = subprocess.Popen([PROGRAM, conf], text=True, stdout=subprocess.PIPE, stderr=self.log, env={**os.environ, **env},
                                        preexec_fn=files and (lambda: resource.setrlimit(resource.RLIMIT_NOFILE, files)))
        line = self.process.stdout.readline()
        if not line.startswith("serving on port "):
            raise AssertionError(f"salus-serve: {line!r} {self.said()}")
        self.port = int(line.split()[3])
        if ready:
            wait_for("its models are ready", lambda: self.ask("GET", "/v2/health/ready")[0] == 200)

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if self.process.poll() is None:
            self.process.kill() if kind else self.stop()
        self.process.wait(PATIENCE)
        self.process.stdout.close()
        self.log.close()
        self.folder.cleanup()

    def said(self):
        self.log.flush()
        with open(self.log.name) as f:
            return f.read()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        equal(self.process.wait(PATIENCE), 0, f"exit status ({self.said()})")

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)

    def ask(self, method, path, body=None, headers={}, c=None):
        """Returns (status, body, headers)."""
        c = c or self.connect()
        c.request(method, path, body, headers)
        r = c.getresponse()
        return r.status, r.read(), r.headers

    def slow(self, ms, c=None, **parameters):
        """Returns (status, the number of the answer or the error)."""
        body = json.dumps({"parameters": parameters, "inputs": [{"name": "ms", "datatype": "INT32", "shape": [1], "data": [ms]}]})
        status, text, _ = self.ask("POST", "/v2/models/slow/infer", body, JSON, c)
        answer = json.loads(text)
        return status, answer["outputs"][0]["data"][0] if status == 200 else answer["error"]

    def count(self, name, **labels):
        text = self.ask("GET", "/metrics")[1].decode()
        wanted = "".join(f'(?=[^}}]*{k}="{v}")' for k, v in labels.items())
        return sum(float(n) for n in re.findall(rf"^{name}\{{{wanted}[^}}]*\}} (\S+)$", text, re.M))

    def ends(self, end, model="slow"):
        return self.count("salus_serve_requests_total", model=model, end=end)

    def programs(self, name):
        """Returns the process ids of the models' programs of that name."""
        out = subprocess.run(["pgrep", "-x", "-P", str(self.process.pid), name], stdout=subprocess.PIPE, text=True).stdout
        return [int(p) for p in out.split()]

    def cpu_s(self):
        with open(f"/proc/{self.process.pid}/stat") as f:
            fields = f.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS


def write(folder, text):
    path = os.path.join(folder, "models.conf")
    with open(path, "w") as f:
        f.write(text)
    return path


def add_body(a, b):
    return json.dumps({"inputs": [{"name": n, "datatype": "FP32", "shape": [len(v)], "data": v} for n, v in (("a", a), ("b", b))]})


def at_once(count, what):
    """Returns the results of what(i), each called in a thread of its own."""
    results = [None] * count

    def one(i):
        results[i] = what(i)
    threads = [threading.Thread(target=one, args=(i,)) for i in range(count)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(PATIENCE)
    equal([r for r in results if r is None], [], "without an answer")
    return results


# ---- answers -------------------------------------------------------------------------------------

def test_two_models():
    with Serve(ADD + SLOW) as s:
        status, text, _ = s.ask("POST", "/v2/models/add/infer", add_body([1, 2, 3], [10, 20, 30]), JSON)
        equal((status, json.loads(text)["outputs"][0]["data"]), (200, [11, 22, 33]), "the sums")
        equal(s.slow(3), (200, 6), "the other model")
        equal(s.ends("answered", "add"), 1, "answered")
        equal({m["name"] for m in json.loads(s.ask("POST", "/v2/repository/index", "{}")[1])}, {"add", "slow"}, "the index")


def test_requests_that_wait_go_together():
    """Each request gets its own answer, in fewer batches than there are requests."""
    with Serve(SLOW + "sizes = 1 2 4 8 16\n") as s:
        equal(at_once(33, lambda i: s.slow(20 + i)), [(200, 2 * (20 + i)) for i in range(33)], "answers")
        batches = s.count("salus_serve_batches_total")
        equal(batches < 20, True, f"{batches} batches of 33 requests")
        equal(s.count("salus_serve_batched_total"), 33, "requests in them")


def test_requests_of_other_shapes_are_not_mixed_up():
    with Serve(ADD + "sizes = 1 2 4 8\nworkers = 2\n") as s:
        def one(i):
            status, text, _ = s.ask("POST", "/v2/models/add/infer", add_body([i] * (i + 1), [1] * (i + 1)), JSON)
            return status, json.loads(text)["outputs"][0]["data"]
        equal(at_once(40, one), [(200, [i + 1] * (i + 1)) for i in range(40)], "answers")


def test_what_cannot_be_in_time_is_said_before_that():
    """The worker is busy for longer than the others can wait. They get an error as soon as that is certain, not when
    the worker is free."""
    with Serve(SLOW) as s:
        busy = threading.Thread(target=s.slow, args=(3000,))
        busy.start()
        wait_for("it is busy", lambda: s.count("salus_serve_batches_total") == 1)
        begin = time.monotonic()
        status, text = s.slow(1, deadline_ms=200)
        took = time.monotonic() - begin
        equal(status, 504, text)
        contains(text, "deadline", "why")
        equal(took < 2.5, True, f"told after {took:.1f} s")
        equal(s.ends("timeout"), 1, "timeouts")
        busy.join(PATIENCE)


def test_what_cannot_be_in_time_beside_other_questions():
    """Other events wake the loop meanwhile, yet no deadline is missed silently."""
    with Serve(SLOW) as s:
        busy, over = threading.Thread(target=s.slow, args=(3000,)), threading.Event()
        busy.start()
        wait_for("it is busy", lambda: s.count("salus_serve_batches_total") == 1)

        def questions():
            c = s.connect()
            while not over.is_set():
                s.ask("GET", "/v2/health/live", c=c)
        others = threading.Thread(target=questions)
        others.start()
        begin, c = time.monotonic(), s.connect()
        try:
            for i in range(12):
                equal(s.slow(1, c, deadline_ms=20 + i)[0], 504, "told")
        finally:
            over.set()
            others.join(PATIENCE)
        equal(time.monotonic() - begin < 2.5, True, "told before the worker was free")
        busy.join(PATIENCE)


def test_deadlines_below_what_is_assumed():
    """A model that never ran is assumed to take 10 ms. A request with a shorter deadline is tried all the same, and
    then the model's 1 ms is known."""
    with Serve(SLOW) as s:
        wait_for("one is answered", lambda: s.slow(1, deadline_ms=8) == (200, 2))
        wait_for("and others", lambda: s.ends("answered") >= 5 or s.slow(1, deadline_ms=8) is None)


def test_the_tutorial():
    """The commands of docs/serving.md print what the page shows."""
    nvcc = subprocess.run([os.path.join(ROOT, "scripts", "find-nvcc")], text=True, stdout=subprocess.PIPE, check=True).stdout.strip()
    with tempfile.TemporaryDirectory(prefix="salus-tutorial-") as folder:
        got, said = tutorial.follow("From nothing to a served model, without a GPU", folder, [os.path.dirname(nvcc), os.path.abspath(BUILD)])
    equal(got, said, "what it prints")


def test_a_program_may_refuse():
    with Serve(SLOW) as s:
        status, text = s.slow(-1)
        equal(status, 500, text)
        contains(text, "it was told to fail", "its words")
        equal(s.slow(2), (200, 4), "it goes on")
        equal(s.ends("failed"), 1, "failed")


def test_an_answer_that_is_none_has_failed():
    """The program gives an output that the file does not declare; the request has failed."""
    with Serve(SLOW.replace("output = y", "output = z")) as s:
        status, text = s.slow(1)
        equal(status, 500, text)
        equal((s.ends("failed"), s.ends("answered")), (1, 0), "ends")


def rounds(x):
    h = x
    for _ in range(x % 4096):
        h = (h * 1664525 + 1013904223) % 2**32
    return h


def test_under_salus():
    """A CUDA program, changed only to use the library: its processes are jobs, and each batch is an iteration."""
    model = f"[model early]\nprogram = {PROGRAMS}/early\ninput = x UINT32 -1\noutput = y UINT32 -1\nworkers = 2\ndeadline = 1min\n"
    path = os.path.abspath(BUILD) + ":" + os.environ["PATH"]
    with Daemon("--device-memory", "256MiB") as d, Serve(model, SALUS_RUN_DIR=d.run_dir, PATH=path) as s:
        wait_for("both are jobs; one of them is enough for the model to be ready", lambda: len(d.jobs()) == 2)

        def one(i):
            x = [977 * i + n for n in range(16)]
            body = json.dumps({"inputs": [{"name": "x", "datatype": "UINT32", "shape": [16], "data": x}]})
            status, text, _ = s.ask("POST", "/v2/models/early/infer", body, JSON)
            answer = json.loads(text)
            return status, answer["outputs"][0]["data"] if status == 200 else answer
        equal(at_once(24, one), [(200, [rounds(977 * i + n) for n in range(16)]) for i in range(24)], "answers")
        batches = s.count("salus_serve_batches_total")
        wait_for("each batch is an iteration", lambda: sum(j["iterations"] for j in d.jobs()) >= batches - 2)


def test_words_for_jobs():
    """The daemon knows what the file sets for a model's jobs."""
    words = {"priority": "-7", "weight": "25", "slo": "40ms", "slo-of": "p95", "group": "servers", "persistent": "4MiB", "ephemeral": "2MiB"}
    model = (f"[model early]\nprogram = {PROGRAMS}/early\ninput = x UINT32 -1\noutput = y UINT32 -1\nworkers = 2\n"
             + "".join(f"{k} = {v}\n" for k, v in words.items()))
    path = os.path.abspath(BUILD) + ":" + os.environ["PATH"]
    with Daemon("--device-memory", "256MiB") as d, Serve(model, SALUS_RUN_DIR=d.run_dir, PATH=path):
        wait_for("both are jobs", lambda: len(d.jobs()) == 2)
        for j in d.jobs():
            equal({k: j[k] for k in ("name", "priority", "weight", "slo_seconds", "slo_of", "group", "reservation", "persistent_bytes",
                                     "ephemeral_bytes")},
                  {"name": "early", "priority": -7, "weight": 25, "slo_seconds": 0.04, "slo_of": "p95", "group": "servers",
                   "reservation": "given", "persistent_bytes": 4 << 20, "ephemeral_bytes": 2 << 20}, "a job")


def test_triton_client():
    """Triton's unmodified client from the Python package registry."""
    python = triton_python()
    with Serve(ADD + SLOW + ALL) as s:
        done = subprocess.run([python, os.path.join(HERE, "triton_client.py"), str(s.port), "serve"], text=True, capture_output=True,
                              timeout=PATIENCE)
        equal(done.returncode, 0, done.stdout + done.stderr + s.said())
        contains(done.stdout, "triton client: all as expected", "its end")


# ---- programs that end ---------------------------------------------------------------------------

def test_a_request_that_ends_programs_is_tried_twice():
    with Serve(SLOW + "workers = 3\n") as s:
        status, text = s.slow(-2)
        equal(status, 503, text)
        contains(text, "two workers ended", "why")
        equal(s.slow(2), (200, 4), "the third one serves")
        equal(s.count("salus_serve_worker_ends_total"), 2, "ends")
        equal(s.ends("lost"), 1, "lost")
        wait_for("they are started again", lambda: s.said().count("event=ready model=slow") == 5)
        equal(s.count("salus_serve_workers_ready"), 3, "ready")


def test_a_request_goes_on_when_its_program_ends():
    """When a program is killed, the requests of its batch are answered by the next one."""
    with Serve(SLOW) as s:
        done = []
        waits = threading.Thread(target=lambda: done.append(s.slow(600)))
        waits.start()
        wait_for("it is in a batch", lambda: s.count("salus_serve_batches_total") == 1)
        first, = s.programs("slow")
        os.kill(first, signal.SIGKILL)
        waits.join(PATIENCE)
        equal(done, [(200, 1200)], "its answer")
        equal(s.count("salus_serve_batches_total"), 2, "batches")


def test_kills_under_load():
    """Programs are killed at random moments under eight clients. Every request gets one answer, and none is wrong."""
    dice = random.Random(1)
    with Serve(SLOW + "workers = 3\nsizes = 1 2 4\ndeadline = 10s\n") as s:
        over = threading.Event()

        def client(i):
            c, answers = s.connect(), []
            for n in range(30):
                ms = 1 + (7 * i + n) % 9
                answers.append((ms, s.slow(ms, c)))
            return answers

        def killer():
            while not over.wait(dice.uniform(0.02, 0.2)):
                for pid in s.programs("slow")[:1]:
                    os.kill(pid, signal.SIGKILL)
        k = threading.Thread(target=killer)
        k.start()
        try:
            answers = [a for r in at_once(8, client) for a in r]
        finally:
            over.set()
            k.join(PATIENCE)
        wrong = [(ms, a) for ms, a in answers if a != (200, 2 * ms) and a[0] not in (429, 503, 504)]
        equal(wrong, [], "wrong answers")
        right = sum(a[0] == 200 for _, a in answers)
        equal(right > 0, True, "some were served")
        equal(s.count("salus_serve_pending"), 0, "pending")
        equal(s.count("salus_serve_worker_ends_total") > 0, True, "some were killed")
        wait_for("all are there again", lambda: s.count("salus_serve_workers_ready") == 3)
        equal(s.slow(1), (200, 2), "after it")


def test_programs_that_end_after_each_batch():
    """Each program takes one batch and ends. Waiting requests go to its successors, and no client sees a broken
    pipe."""
    model = f"[model rogue]\nprogram = {PROGRAMS}/rogue dies-after\nsalus = no\ninput = x UINT8 -1\noutput = y INT64\nworkers = 2\ndeadline = 1min\n"
    body = json.dumps({"inputs": [{"name": "x", "datatype": "UINT8", "shape": [2], "data": [2, 3]}]})
    with Serve(model) as s:
        def one(i):
            status, text, _ = s.ask("POST", "/v2/models/rogue/infer", body, JSON)
            answer = json.loads(text)
            return status, answer["outputs"][0]["data"] if status == 200 else answer["error"]
        programs = s.programs("rogue")
        for p in programs:
            os.kill(p, signal.SIGSTOP)  # until all requests are queued

        def go():
            wait_for("all wait", lambda: s.count("salus_serve_pending") == 50)
            for p in programs:
                os.kill(p, signal.SIGCONT)
        goes = threading.Thread(target=go)
        goes.start()
        answers = at_once(50, one)
        goes.join(PATIENCE)
        wrong = [a for a in answers if a[0] != 200 and "two workers ended" not in a[1]]
        equal(wrong, [], "answers")
        equal(sum(a == (200, [5]) for a in answers) > 0, True, f"some were served: {answers}")
        equal("event=rejected" in s.said(), False, s.said())


def test_a_program_that_cannot_start():
    with Serve(SLOW.replace("/slow", "/none"), ready=False) as s:
        wait_for("the log says so", lambda: "the worker cannot be started: No such file" in s.said())
        status, text, _ = s.ask("POST", "/v2/models/slow/infer", "{}", JSON)
        equal((status, "not ready" in json.loads(text)["error"]), (503, True), "a request")


# ---- the profiler --------------------------------------------------------------------------------

class Load:
    """A context with clients that ask one request after another: what(i, n) is the n-th of client i."""

    def __init__(self, clients, what):
        self.over, self.wrong = threading.Event(), []
        self.threads = [threading.Thread(target=self._client, args=(i, what)) for i in range(clients)]

    def _client(self, i, what):
        n = 0
        while not self.over.is_set() and not self.wrong:
            try:
                what(i, n)
            except Exception as e:
                self.wrong.append(repr(e))
            n += 1

    def __enter__(self):
        for t in self.threads:
            t.start()
        return self

    def __exit__(self, kind, *_):
        self.over.set()
        for t in self.threads:
            t.join(PATIENCE)
        if not kind:
            equal(self.wrong, [], "what went wrong in clients")


def alone_ms(s, application, quantile=0.5):
    return 1000 * s.count("salus_serve_alone_seconds", application=application, quantile=quantile)


def known(s, application):
    return s.count("salus_serve_alone_requests", application=application)


def dropped(s, why):
    return s.count("salus_serve_profile_dropped_total", why=why)


def mixed(s, connections):
    """Returns a request function in which every fourth request is long. Seven clients fill batches in any mix, so that
    nearly each batch is long."""
    def one(i, n):
        kind, ms = ("long", 60) if (i + n) % 4 == 0 else ("short", 3)
        equal(s.slow(ms, connections[i], application=kind), (200, 2 * ms), "an answer")
    return one


def test_times_alone_are_learnt_from_batches():
    """A batch of a short and a long request takes the long one's time for both. Alone they differ, and the profiler
    learns that soon."""
    with Serve(SLOW + "sizes = 1 2 4 8\nprofile = 50%\n") as s:
        connections = [s.connect() for _ in range(7)]
        with Load(7, mixed(s, connections)):
            wait_for("ten were run again", lambda: s.count("salus_serve_profiled_total") >= 10)
            wait_for("some of each are known", lambda: min(known(s, "short"), known(s, "long")) >= 10)
            equal(3 <= alone_ms(s, "short") < 40, True, f"short: {alone_ms(s, 'short'):.1f} ms")
            equal(60 <= alone_ms(s, "long") < 200, True, f"long: {alone_ms(s, 'long'):.1f} ms")
        equal(s.count("salus_serve_profile_seconds_total") > 0.03, True, "seconds")
        equal(len(s.programs("slow")), 2, "one program serves, one is the profiler's")
        equal(s.count("salus_serve_workers_ready"), 1, "workers that serve")


def test_without_a_profiler():
    with Serve(SLOW + "profile = no\n") as s:
        connections = [s.connect() for _ in range(7)]
        with Load(7, mixed(s, connections)):
            wait_for("enough batches", lambda: s.count("salus_serve_batched_total") > 60)
        equal(s.count("salus_serve_profiled_total"), 0, "run again")
        equal(len(s.programs("slow")), 1, "programs")


def test_a_lone_request_is_not_run_again():
    """A batch of one request is a measurement already."""
    with Serve(SLOW + "profile = 100%\n") as s:
        for _ in range(5):
            equal(s.slow(2, application="lone"), (200, 4), "an answer")
        equal(known(s, "lone"), 5, "known")
        equal(len(s.programs("slow")), 1, "programs")


def together(s, requests):
    """Sends all requests, (application, ms) each, as one batch, while an earlier request keeps the worker busy."""
    before = s.count("salus_serve_batches_total")
    busy = threading.Thread(target=s.slow, args=(500,))
    busy.start()
    wait_for("it is busy", lambda: s.count("salus_serve_batches_total") == before + 1)
    equal(at_once(len(requests), lambda i: s.slow(requests[i][1], application=requests[i][0])), [(200, 2 * ms) for _, ms in requests], "answers")
    busy.join(PATIENCE)
    equal(s.count("salus_serve_batches_total"), before + 2, "batches")


def test_the_profiler_may_end():
    """A profiler's run that fails, ends or hangs harms no request, is counted and not repeated; later runs take
    place."""
    with Serve(SLOW + "sizes = 1 4\npolicy = edf\nprofile = 100%\nlimit = 2s\n") as s:
        together(s, [("fails", -3), ("ends", -4), ("hangs", -5), ("good", 1)])
        wait_for("each was run", lambda: (dropped(s, "failed"), dropped(s, "lost"), known(s, "good")) == (1, 2, 1))
        together(s, [("good", 1), ("good", 2), ("good", 3), ("good", 4)])
        wait_for("another one is run", lambda: known(s, "good") == 2)
        equal((dropped(s, "failed"), dropped(s, "lost")), (1, 2), "dropped")
        equal((known(s, "fails"), known(s, "ends"), known(s, "hangs")), (0, 0, 0), "of the others nothing is known")
        equal(s.count("salus_serve_worker_ends_total"), 0, "workers that ended")
        equal(s.ends("answered"), 10, "answered")


def test_the_profiler_keeps_to_its_part():
    """The profiler gets a fifth of the time: four runs of 100 ms have three pauses of 400 ms between them."""
    with Serve(SLOW + "sizes = 1 4\npolicy = edf\nprofile = 20%\n") as s:
        begin = time.monotonic()
        together(s, [("a", 100), ("b", 100), ("c", 100), ("d", 100)])
        wait_for("all were run", lambda: s.count("salus_serve_profiled_total") == 4)
        took = time.monotonic() - begin
        equal(took > 2.2, True, f"the batches and the runs took {took:.1f} s, which are 2.3 with the pauses")


def test_what_ended_workers_is_not_run_again():
    with Serve(SLOW + "sizes = 1 4\npolicy = edf\n") as s:
        busy = threading.Thread(target=s.slow, args=(500,))
        busy.start()
        wait_for("it is busy", lambda: s.count("salus_serve_batches_total") == 1)
        equal({status for status, _ in at_once(4, lambda i: s.slow(-2 if i == 0 else 1, application=f"a{i}"))}, {503}, "answers")
        busy.join(PATIENCE)
        wait_for("its worker is there again", lambda: s.count("salus_serve_workers_ready") == 1)
        equal("slow/profiler" in s.said(), False, "a profiler for what ended workers")


def test_the_first_run_of_a_program_does_not_count():
    """The warm-up of a program is not part of a request's time: the sample runs once more."""
    with Serve(SLOW.replace("/slow\n", "/slow 700\n") + "sizes = 1 4\npolicy = edf\n") as s:
        together(s, [("a", 1), ("b", 1), ("c", 1), ("d", 1)])
        wait_for("all were run", lambda: s.count("salus_serve_profiled_total") == 4)
        for a in "abcd":
            equal(alone_ms(s, a, 0.99) < 500, True, f"{a}: {alone_ms(s, a):.0f} ms")


def test_the_profiler_cannot_start():
    """A program that can only start once: requests are unaffected by the missing second process."""
    with tempfile.TemporaryDirectory() as folder:
        once = os.path.join(folder, "once")
        with open(once, "w") as f:
            f.write(f"#!/bin/sh\nmkdir {folder}/taken 2>/dev/null || exit 1\nexec {PROGRAMS}/slow\n")
        os.chmod(once, 0o755)
        with Serve(SLOW.replace(f"{PROGRAMS}/slow", once) + "sizes = 1 4\npolicy = edf\n") as s:
            together(s, [("a", 1), ("b", 2), ("c", 3), ("d", 4)])
            wait_for("it was tried", lambda: "event=lost model=slow/profiler" in s.said())
            together(s, [("a", 1), ("b", 2), ("c", 3), ("d", 4)])
            equal(s.count("salus_serve_worker_ends_total"), 0, "workers that ended")
            equal(s.count("salus_serve_profiled_total"), 0, "run again")


def test_the_profiler_is_stopped_as_well():
    """The profiler ends with the server even in the middle of a run."""
    with Serve(SLOW + "sizes = 1 4\npolicy = edf\nprofile = 100%\n") as s:
        for application in "abcd":  # the profiler runs them in this order
            s.slow(1, application=application)
        together(s, [("a", 1), ("b", 2), ("c", 3), ("d", 600)])
        wait_for("all but the long one were run", lambda: s.count("salus_serve_profiled_total") == 3)
        programs = s.programs("slow")
        equal(len(programs), 2, "programs")
        s.stop()
        equal([p for p in programs if os.path.exists(f"/proc/{p}")], [], "programs that are left")


EARLY = f"""[model early]
program = {PROGRAMS}/early
input = x UINT32 -1
output = y UINT32 -1
sizes = 1 2 4
deadline = 1min
profile = 100%
"""


def early(s, application, x, c):
    body = json.dumps({"parameters": {"application": application}, "inputs": [{"name": "x", "datatype": "UINT32", "shape": [512], "data": [x] * 512}]})
    status, text, _ = s.ask("POST", "/v2/models/early/infer", body, JSON, c)
    equal((status, json.loads(text).get("outputs", [{}])[0].get("data")), (200, [rounds(x)] * 512), "an answer")


def early_alone(d, beside):
    """Returns the milliseconds of short and of long requests alone, and of the profiler's runs from sending to the
    answer, under a load in batches. `beside`: other work under the daemon once the model is ready."""
    path = os.path.abspath(BUILD) + ":" + os.environ["PATH"]
    with Serve(EARLY, SALUS_RUN_DIR=d.run_dir, PATH=path) as s, beside():
        connections = [s.connect() for _ in range(6)]
        with Load(6, lambda i, n: early(s, *(("long", 4095) if (i + n) % 2 else ("short", 200)), connections[i])):
            wait_for("some were run again", lambda: s.count("salus_serve_profiled_total") >= 24)
            wait_for("some of each are known", lambda: min(known(s, "short"), known(s, "long")) >= 12)
        job, = (j for j in d.jobs() if j["name"] == "early/profiler")
        equal(job["priority"], -1000, "the profiler's priority")
        runs_ms = 1000 * s.count("salus_serve_profile_seconds_total") / s.count("salus_serve_profiled_total")
        return alone_ms(s, "short"), alone_ms(s, "long"), runs_ms


class Trainer:
    """A job that never pauses."""

    def __init__(self, d):
        self.d = d

    def __enter__(self):
        self.job = self.d.start([os.path.join(BUILD, "e2e", "default-static", "trainer"), "1000000", "4", "8", "60"], SALUS_MARK="1", SALUS_JOB_NAME="trainer")
        wait_for("it trains", lambda: any(j["name"] == "trainer" and j["iterations"] > 2 for j in self.d.jobs()))

    def __exit__(self, *_):
        self.job.kill()
        self.job.communicate()


def test_alone_is_what_the_device_worked():
    """A run takes longer beside a trainer that never pauses, because it waits; the measured time alone must not change.
    The bands are wide: the software GPU is slower when other processes use the processors."""
    with Daemon("--device-memory", "512MiB") as d:
        short, long, runs = early_alone(d, contextlib.nullcontext)
        busy_short, busy_long, busy_runs = early_alone(d, lambda: Trainer(d))
        print(f"  alone: short {short:.3f} ms, long {long:.3f}, runs {runs:.3f}; beside a trainer: {busy_short:.3f}, {busy_long:.3f}, {busy_runs:.3f}")
        equal(long / short > 2, True, "the kinds differ in quiet")
        equal(busy_long / busy_short > 2, True, "the kinds differ beside a trainer")
        equal(1 / 3 < busy_long / long < 3, True, f"{long:.3f} ms in quiet, {busy_long:.3f} beside a trainer")


# ---- clients -------------------------------------------------------------------------------------

def test_clients_that_do_not_wait():
    """Forty clients disconnect before or during a batch; no other client notices."""
    with Serve(SLOW + "sizes = 1 2 4\n") as s:
        body = json.dumps({"inputs": [{"name": "ms", "datatype": "INT32", "shape": [1], "data": [30]}]}).encode()
        head = b"POST /v2/models/slow/infer HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
        for _ in range(40):
            c = socket.create_connection(("127.0.0.1", s.port), timeout=PATIENCE)
            c.sendall(head % len(body) + body)
            c.close()
        equal(s.slow(2), (200, 4), "one that waits")
        wait_for("all have ended", lambda: s.count("salus_serve_pending") == 0)
        equal(s.ends("gone") + s.ends("answered"), 41, "ends")
        equal(s.ends("gone") > 0, True, "some were gone")


def test_more_connections_than_descriptors_at_first():
    """The soft limit is raised for the gateway but not for the programs it starts. If the hard limit is too low, an
    error tells so."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    with Serve(SLOW, files=(256, hard)) as s, contextlib.ExitStack() as idle:
        for _ in range(400):
            idle.enter_context(socket.create_connection(("127.0.0.1", s.port), timeout=PATIENCE))
        equal(s.slow(2), (200, 4), "one more")
        program, = s.programs("slow")
        equal(resource.prlimit(program, resource.RLIMIT_NOFILE), (256, hard), "its program's")
    with Serve(SLOW, files=(256, 1024)) as s:
        contains(s.said(), "event=few_descriptors limit=1024 connections=2048", "what is said of too few")


def test_it_stops_when_all_is_answered():
    with Serve(SLOW) as s:
        results = []
        t = threading.Thread(target=lambda: results.append(s.slow(700)))
        t.start()
        wait_for("it is in a batch", lambda: s.count("salus_serve_batches_total") == 1)
        s.stop()
        t.join(PATIENCE)
        equal(results, [(200, 1400)], "the answer")
        equal(s.programs("slow"), [], "programs")


def test_cost_of_a_request():
    """Prints the user and system time of the gateway per request on kept connections; there is no limit."""
    with Serve(ADD + "sizes = 1 2 4 8 16\n") as s:
        head = json.dumps({"inputs": [{"name": n, "datatype": "FP32", "shape": [16], "parameters": {"binary_data_size": 64}} for n in "ab"],
                           "parameters": {"binary_data_output": True}}).encode()
        body = head + struct.pack("<32f", *range(32))
        request = (f"POST /v2/models/add/infer HTTP/1.1\r\nHost: x\r\nInference-Header-Content-Length: {len(head)}\r\n"
                   f"Content-Length: {len(body)}\r\n\r\n").encode() + body

        def client(i):
            c = socket.create_connection(("127.0.0.1", s.port), timeout=PATIENCE)
            answers = 0
            for _ in range(500):
                c.sendall(request)
                answers += c.recv(65536).startswith(b"HTTP/1.1 200")
            c.close()
            return answers
        before = s.cpu_s()
        equal(sum(at_once(8, client)), 4000, "answers")
        print(f"  {(s.cpu_s() - before) / 4000 * 1e6:.0f} us of CPU a request, {4000 / s.count('salus_serve_batches_total'):.1f} requests a batch")


# ---- the file ------------------------------------------------------------------------------------

def check(text):
    with tempfile.TemporaryDirectory() as folder:
        r = subprocess.run([PROGRAM, "--check", write(folder, text)], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return r.returncode, r.stderr


def test_a_file_that_is_right():
    equal(check(ADD + SLOW), (0, ""), "both")


def test_every_fault_is_listed():
    status, text = check("""[front]
port = 70000
colour = red
[models]
x = 1
[model a]
program =
workers = 0
sizes = 2 4
policy = fast
deadline = soon
salus = maybe
profile = 101%
input = x FP99 1
input = y FP32 0
output = z FP32 1
output = z FP32 1
[model b]
""" + "version = 2\n")
    equal(status, 2, text)
    for part in ("[front] port: '70000' is not a whole number from 0 to 65535", "[front] colour: there is no such setting",
                 "[models] x: the section is unknown", "[model a] program: the command is empty", "[model a] workers: '0'",
                 "[model a] sizes: batch sizes must ascend from 1", "[model a] policy: there is no policy 'fast'",
                 "[model a] deadline: 'soon' is not a time", "[model a] salus: 'maybe' is not yes or no",
                 "[model a] profile: '101%' is not yes, no or a percentage up to 100%",
                 "[model a] input: 'x FP99 1' is not of the form NAME DATATYPE", "[model a] input: '0' is not a dimension",
                 "[model a] output: the tensor 'z' is given twice", "[model a] no input is given", "[model b] the setting program is missing"):
        contains(text, part, "faults")


def test_files_that_are_none():
    equal(check("")[0], 2, "an empty one")
    contains(check("")[1], "no section [model NAME]", "an empty one")
    contains(check("what\n")[1], ":1: the line is neither [SECTION] nor NAME = VALUE", "no INI")
    r = subprocess.run([PROGRAM, "/nonexistent"], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    equal((r.returncode, "No such file" in r.stderr), (2, True), r.stderr)
    if not os.path.exists("/etc/salus/salus-serve.conf"):
        r = subprocess.run([PROGRAM], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        equal((r.returncode, "/etc/salus/salus-serve.conf: No such file" in r.stderr), (2, True), r.stderr)


if __name__ == "__main__":
    sys.exit(run_tests(globals()))
