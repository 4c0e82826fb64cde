#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests the front of salus-serve as a process (test/serve/echo_front.c), with well-behaved and hostile clients, and
with Triton's own client from the Python package registry.

    test/serve/run_front.py [--front=PROGRAM] [NAME-PART...]

A test is a function whose name begins with `test_`; it fails by raising.
"""
import http.client
import json
import os
import re
import resource
import signal
import socket
import struct
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "e2e", "lib")]
from harness import BUILD, PATIENCE, Skipped, run_tests, wait_for
from triton import triton_python

# --front=PATH tests another program, such as a mutant.
PROGRAM = next((a.partition("=")[2] for a in sys.argv if a.startswith("--front=")),
               os.path.join(BUILD, "test", "serve", "echo_front"))
JSON = {"Content-Type": "application/json"}
TICKS = os.sysconf("SC_CLK_TCK")


def equal(got, want, what):
    if got != want:
        raise AssertionError(f"{what}: {got!r}, expected {want!r}")


def contains(text, part, what):
    if part not in text:
        raise AssertionError(f"{what}: no {part!r} in {text!r}")


class Front:
    """The program, with these options."""

    def __init__(self, *options, log=None):
        env = dict(os.environ, SALUS_LOG=log or "info")
        self.process = subprocess.Popen([PROGRAM, *options], text=True, env=env,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        line = self.process.stdout.readline()
        if not line.startswith("port "):
            raise AssertionError(f"echo_front: {line!r} {self.process.communicate()[1]!r}")
        self.port = int(line.split()[1])

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if self.process.poll() is None:
            self.process.kill() if kind else self.stop()
        self.process.communicate()

    def stop(self):
        """Stops the program with SIGTERM. Returns its output after an orderly end."""
        self.process.send_signal(signal.SIGTERM)
        return self.end()

    def end(self):
        """Returns the output after an orderly end; the program was told to end before."""
        out, err = self.process.communicate(timeout=PATIENCE)
        equal(self.process.returncode, 0, f"exit status ({err})")
        contains(out, "stopped", "its end")
        return out, err

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)

    def socket(self, data=b""):
        s = socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)
        s.sendall(data)
        return s

    def metrics(self):
        status, _, text = ask(self.connect(), "GET", "/metrics")
        equal(status, 200, "metrics")
        return text.decode()

    def count(self, name):
        return int(re.search(rf"^{name} (\d+)$", self.metrics(), re.M).group(1))

    def cpu_s(self):
        with open(f"/proc/{self.process.pid}/stat") as f:
            fields = f.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS


def ask(c, method, path, body=None, headers={}):
    """Returns (status, headers, body)."""
    c.request(method, path, body, headers)
    r = c.getresponse()
    return r.status, r.headers, r.read()


def refused(f, status, part, method, path, body=None, headers={}, c=None):
    """Checks that the answer has this status and these words in the protocol's form."""
    got, answer, text = ask(c or f.connect(), method, path, body, headers)
    equal(got, status, f"{method} {path} {text}")
    error = json.loads(text)
    equal(list(error), ["error"], "its keys")
    contains(error["error"], part, f"{method} {path}")
    return answer


def tensor(name, values, datatype="FP32"):
    return {"name": name, "datatype": datatype, "shape": [len(values)], "data": values}


def add_body(a=(1, 2), b=(10, 20), **more):
    return json.dumps({**more, "inputs": [tensor("a", list(a)), tensor("b", list(b))]})


def infer(c, model="add", **more):
    status, _, text = ask(c, "POST", f"/v2/models/{model}/infer", add_body(**more), JSON)
    equal(status, 200, text)
    return json.loads(text)


def is_served(f, what):
    equal(infer(f.connect())["outputs"][0]["data"], [11, 22], what)


def raw(request, body=b""):
    return request.replace("\n", "\r\n").encode() + body


def read_all(s):
    """Reads until the connection ends in any way."""
    data = b""
    try:
        while piece := s.recv(65536):
            data += piece
    except ConnectionResetError:
        pass
    return data


POST = "POST /v2/models/{}/infer HTTP/1.1\nHost: x\nContent-Length: {}\n\n"


# ---- the protocol --------------------------------------------------------------------------------

def test_routes():
    with Front() as f:
        c = f.connect()
        for path in ("/v2/health/live", "/v2/health/ready", "/v2/models/add/ready", "/v2/models/add/versions/1/ready"):
            equal(ask(c, "GET", path)[::2], (200, b""), path)
        equal(json.loads(ask(c, "GET", "/v2")[2]),
              {"name": "salus-serve", "version": "0", "extensions": ["binary_tensor_data", "model_configuration", "model_repository"]},
              "the server")
        add = {"name": "add", "versions": ["1", "2"], "platform": "salus",
               "inputs": [{"name": n, "datatype": "FP32", "shape": [-1]} for n in "ab"],
               "outputs": [{"name": "sum", "datatype": "FP32", "shape": [-1]}]}
        equal(json.loads(ask(c, "GET", "/v2/models/add")[2]), add, "a model")
        equal(json.loads(ask(c, "GET", "/v2/models/add/versions/2")[2]), add, "its version")
        equal(json.loads(ask(c, "GET", "/v2/models/add/config")[2])["input"][1],
              {"name": "b", "data_type": "TYPE_FP32", "dims": [-1]}, "its configuration")
        index = json.loads(ask(c, "POST", "/v2/repository/index", "{}")[2])
        equal([m["version"] for m in index if m["name"] == "add"], ["1", "2"], "the index")
        equal({m["name"] for m in index if m["state"] != "READY"}, {"unready"}, "not ready")
        equal(ask(c, "HEAD", "/v2")[::2], (200, b""), "HEAD")
        status, headers, text = ask(c, "GET", "/metrics")
        equal((status, headers["Content-Type"].split(";")[0]), (200, "text/plain"), "metrics")
        contains(text.decode(), "echo_asked_total 0", "metrics")


def test_refusals():
    """Each refusal has its status and words. All come on one connection, which stays open."""
    with Front() as f:
        c = f.connect()
        for path in ("/", "/v1", "/v2/models", "/v2/models/", "/v2/models/add/nothing", "/v2/models/add/versions/"):
            refused(f, 404, "this path is unknown", "GET", path, c=c)
        refused(f, 404, 'no model "none"', "GET", "/v2/models/none", c=c)
        refused(f, 404, 'no model "none"', "POST", "/v2/models/none/infer", add_body(), JSON, c=c)
        refused(f, 404, 'no version "9"', "POST", "/v2/models/add/versions/9/infer", add_body(), JSON, c=c)
        equal(refused(f, 405, "GET is not allowed", "GET", "/v2/models/add/infer", c=c)["Allow"], "POST", "Allow")
        equal(refused(f, 405, "POST is not allowed", "POST", "/v2", "{}", c=c)["Allow"], "GET, HEAD", "Allow")
        refused(f, 405, "DELETE is not allowed", "DELETE", "/v2/models/add", c=c)
        refused(f, 415, "Content-Type text/xml", "POST", "/v2/models/add/infer", "<a/>", {"Content-Type": "text/xml"}, c=c)
        refused(f, 415, "Content-Encoding gzip", "POST", "/v2/models/add/infer", "x", {"Content-Encoding": "gzip"}, c=c)
        equal(refused(f, 503, "not ready", "POST", "/v2/models/unready/infer", add_body(), JSON, c=c)["Retry-After"], "1", "Retry-After")
        refused(f, 503, "not ready", "GET", "/v2/models/unready/ready", c=c)
        equal(refused(f, 429, "too many wait", "POST", "/v2/models/busy/infer", add_body(), JSON, c=c)["Retry-After"], "7", "Retry-After")
        refused(f, 504, "deadline", "POST", "/v2/models/late/infer", add_body(), JSON, c=c)
        refused(f, 500, 'computed no output "sum"', "POST", "/v2/models/broken/infer", add_body(), JSON, c=c)
        refused(f, 400, "requested twice", "POST", "/v2/models/add/infer", add_body(outputs=[{"name": "sum"}] * 2), JSON, c=c)
        refused(f, 400, "Salus-Application", "POST", "/v2/models/add/infer", add_body(), {"Salus-Application": "a b"}, c=c)
        refused(f, 400, "the body has no JSON", "POST", "/v2/models/add/infer", "", JSON, c=c)
        equal(infer(c)["outputs"][0]["data"], [11, 22], "it goes on")


def test_parameters():
    with Front() as f:
        c = f.connect()
        equal(infer(c, id="r 1", parameters={"deadline_ms": 12.5, "application": "bert"})["id"], "r 1", "its id")
        contains(f.metrics(), "echo_deadline_ns 12500000", "the deadline")
        contains(f.metrics(), 'application="bert"', "the application")
        ask(c, "POST", "/v2/models/add/infer", add_body(), {"Salus-Application": "resnet"})
        contains(f.metrics(), 'application="resnet"', "by its header")
        contains(f.metrics(), "echo_deadline_ns 0", "none")


def binary_request(sizes, rest, shape=(2,), **more):
    head = json.dumps({**more, "parameters": {"binary_data_output": True}, "inputs": [
        {"name": n, "datatype": "FP32", "shape": list(shape), "parameters": {"binary_data_size": s}}
        for n, s in zip("ab", sizes)]}).encode()
    return head + rest, {"Inference-Header-Content-Length": str(len(head))}


def test_binary():
    with Front() as f:
        c = f.connect()
        body, headers = binary_request((8, 8), struct.pack("<4f", 1, 2, 10, 20))
        for model in ("add", "later"):
            status, got, answer = ask(c, "POST", f"/v2/models/{model}/infer", body, headers)
            equal((status, got["Content-Type"]), (200, "application/octet-stream"), "its form")
            head = int(got["Inference-Header-Content-Length"])
            equal(json.loads(answer[:head])["outputs"][0]["parameters"], {"binary_data_size": 8}, "its size")
            equal(struct.unpack("<2f", answer[head:]), (11, 22), "its bytes")
        path = "/v2/models/add/infer"
        refused(f, 400, "7 bytes of the body are left", "POST", path, *binary_request((8, 8), bytes(15)), c=c)
        refused(f, 400, "has 1 bytes after", "POST", path, *binary_request((8, 8), bytes(17)), c=c)
        refused(f, 400, "3 elements of FP32 are 12", "POST", path, *binary_request((8, 8), bytes(16), (3,)), c=c)
        for length in ("-1", "1e3", "", "99999999999999999999", "0x10"):
            refused(f, 400, "Inference-Header-Content-Length", "POST", path, body, {"Inference-Header-Content-Length": length}, c=c)
        refused(f, 400, "is 5000, but the body has", "POST", path, body, {"Inference-Header-Content-Length": "5000"}, c=c)


def test_the_same_again():
    """Requests with the same JSON as the connection's last one, which the front does not parse again. Each has its own
    data and headers."""
    with Front() as f:
        c, turns = f.connect(), 0
        for model in ("add", "add", "later", "later", "add", "late", "add", "add"):
            for application in ("bert", "", "a", "resnet"):
                turns += 1
                body, headers = binary_request((8, 8), struct.pack("<4f", turns, 2, 10, 20 * turns))
                if application:
                    headers["Salus-Application"] = application
                status, got, answer = ask(c, "POST", f"/v2/models/{model}/infer", body, headers)
                contains(f.metrics(), f'{{application="{application}"}}', "the application")
                if model == "late":
                    equal(status, 504, "its status")
                    continue
                values = struct.unpack("<2f", answer[int(got["Inference-Header-Content-Length"]):])
                equal(values, (turns + 10, 2 + 20 * turns), f"the answer to request {turns}")
            path = "/v2/models/add/infer"
            refused(f, 400, "7 bytes of the body are left", "POST", path, *binary_request((8, 8), bytes(15)), c=c)
            refused(f, 400, "has 1 bytes after", "POST", path, *binary_request((8, 8), bytes(17)), c=c)
        for _ in range(3):
            refused(f, 400, 'has no output "z"', "POST", path,
                    *binary_request((8, 8), bytes(16), outputs=[{"name": "z"}]), c=c)


def test_every_truncated_body():
    with Front() as f:
        c, body = f.connect(), add_body(id="x")
        for n in range(len(body)):
            refused(f, 400, "", "POST", "/v2/models/add/infer", body[:n], JSON, c=c)
        equal(f.count("echo_asked_total"), 0, "asked")


def test_large():
    """A body that arrives in many pieces, and an answer sent in many."""
    with Front() as f:
        n = 3 << 20
        values = struct.pack(f"<{n}f", *[i % 1000 for i in range(n)])
        body, headers = binary_request((4 * n, 4 * n), values + values, (n,))
        status, got, answer = ask(f.connect(), "POST", "/v2/models/add/infer", body, headers)
        equal(status, 200, answer[:200])
        out = struct.unpack(f"<{n}f", answer[int(got["Inference-Header-Content-Length"]):])
        equal(all(v == 2 * (i % 1000) for i, v in enumerate(out)), True, "the sums")


# ---- HTTP ----------------------------------------------------------------------------------------

def test_absurd_lengths():
    with Front("--body", "1000000") as f:
        for length in ("1000001", "999999999999", "99999999999999999999999999"):
            answer = read_all(f.socket(raw(POST.format("add", length))))
            contains(answer.decode(), " 413 ", length)
        contains(answer.decode(), "HTTP/1.1", "an answer")
        for length in ("-1", "abc", "1 2"):
            answer = read_all(f.socket(raw(POST.format("add", length))))
            contains(answer.decode(), " 400 ", length)
        chunked = raw("POST /v2/models/add/infer HTTP/1.1\nHost: x\nTransfer-Encoding: chunked\n\n5\nabcde\n0\n\n")
        contains(read_all(f.socket(chunked)).decode(), " 411 ", "chunks")
        is_served(f, "after all of these")


def test_garbage():
    with Front() as f:
        for data in (b"\0" * 100, b"\xff\xfe\n\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\r\n" * 1000 + b"x\r\n\r\n",
                     b"GET /v2 HTTP/1.1\r\n" + b"X: " + b"y" * 100000 + b"\r\n\r\n", b"GET /" + b"a" * 200000 + b" HTTP/1.1\r\n\r\n",
                     b"GET /v2 HTTP/1.1\r\n" + b"".join(b"H%d: v\r\n" % i for i in range(20000)) + b"\r\n", os.urandom(5000)):
            s = f.socket()
            try:
                s.sendall(data)
                s.shutdown(socket.SHUT_WR)
            except OSError:
                pass  # the server closed the connection before all was sent
            equal(b" 200 " in read_all(s), False, f"{data[:20]!r}")
            is_served(f, f"after {data[:20]!r}")


def test_pipelined():
    """Several requests at once, of which one waits in the middle: the answers come in order."""
    with Front() as f:
        body = [add_body((i, i), (1, 1), id=str(i)).encode() for i in range(3)]
        parts = [raw(POST.format(m, len(b)), b) for m, b in zip(("add", "later", "add"), body)]
        s = f.socket(b"".join(parts) + raw("GET /v2/health/live HTTP/1.1\nHost: x\nConnection: close\n\n"))
        answer = read_all(s).decode()
        equal(answer.count("HTTP/1.1 200"), 4, answer)
        equal(re.findall(r'"id":"(\d)"', answer), ["0", "1", "2"], "their order")


def test_expect_continue():
    with Front() as f:
        body = add_body().encode()
        s = f.socket(raw(POST.format("add", len(body)).replace("Host: x\n", "Host: x\nExpect: 100-continue\nConnection: close\n")))
        contains(s.recv(1000).decode(), " 100 ", "go on")
        s.sendall(body)
        contains(read_all(s).decode(), " 200 ", "the answer")


def answers(data):
    """Returns [(status, headers, body)] of all answers, each with its own length."""
    found = []
    while data:
        head, _, data = data.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        headers = {n.lower(): v for n, _, v in (line.partition(": ") for line in lines[1:])}
        length = int(headers["content-length"])
        found.append((int(lines[0].split()[1]), headers, data[:length]))
        data = data[length:]
    return found


GET = "GET {} HTTP/1.1\nHost: x\n\n"


def test_nothing_is_smuggled():
    """No request is smuggled. Where two readers might disagree about the end of a request, the rest is not taken for
    another request; the answer is that of the protocol."""
    inner = raw(GET.format("/v2/health/live"))
    for what, status, head in (
            ("two lengths", 400, f"Content-Length: 0\nContent-Length: {len(inner)}\n"),
            ("a length and chunks", 400, "Content-Length: 3\nTransfer-Encoding: chunked\n"),
            ("chunks and a length", 400, "Transfer-Encoding: chunked\nContent-Length: 3\n"),
            ("chunks", 411, "Transfer-Encoding: chunked\n"),
            ("chunks in disguise", 411, "Transfer-Encoding: xchunked\n"),
            ("a length with a space", 400, "Content-Length : 0\n"),
            ("a length of its own kind", 400, "Content-Length: +0\n"),
            ("a folded header", 400, "X: y\n Content-Length: 3\n"),
            ("no host", 400, None)):
        with Front() as f:
            head = "POST /v2/models/add/infer HTTP/1.1\n" + ("Host: x\n" + head if head is not None else "") + "\n"
            found = answers(read_all(f.socket(raw(head) + b"0\r\n\r\n" + inner)))
            equal([a[0] for a in found], [status], what)
            equal(found[0][1]["connection"], "close", what)
            equal(list(json.loads(found[0][2])), ["error"], what)
    with Front() as f:
        for bad in (b"GET /v2 HTTP/1.1\nHost: x\n\n", b"GET /v2 HTTP/1.1\r\nHost: x\r\nX: \1\r\n\r\n"):
            equal([a[0] for a in answers(read_all(f.socket(bad)))], [400], f"{bad!r}")


def test_versions_and_connections():
    with Front() as f:
        s = f.socket(raw("GET /v2/health/live HTTP/1.0\nConnection: keep-alive\n\nGET /v2/health/live HTTP/1.0\n\n"))
        found = answers(read_all(s))
        equal([(a[0], a[1]["connection"]) for a in found], [(200, "keep-alive"), (200, "close")], "HTTP/1.0")
        equal([a[0] for a in answers(read_all(f.socket(raw("GET /v2 HTTP/2.0\nHost: x\n\n"))))], [505], "HTTP/2.0")
        equal([a[0] for a in answers(read_all(f.socket(raw("GET http://x/v2?a HTTP/1.1\nHost: x\nConnection: close\n\n"))))], [200],
              "a whole URI")
        status, headers, _ = ask(f.connect(), "GET", "/v2/health/live")
        said = time.mktime(time.strptime(headers["Date"], "%a, %d %b %Y %H:%M:%S GMT"))
        equal(abs(said - time.mktime(time.gmtime())) < 60, True, "its date")
        got = ask(f.connect(), "GET", "/v2/models/add")
        head = ask(f.connect(), "HEAD", "/v2/models/add")
        equal((head[1]["Content-Length"], head[2]), (got[1]["Content-Length"], b""), "HEAD has the length")
        two = read_all(f.socket(raw("HEAD /v2 HTTP/1.1\nHost: x\n\nHEAD /v2 HTTP/1.1\nHost: x\nConnection: close\n\n")))
        equal((two.count(b"HTTP/1.1 200"), two.count(b"{")), (2, 0), "HEAD has no body")
        refused(f, 404, "no model", "GET", "/v2/models/%61dd%2e", c=f.connect())
        equal(ask(f.connect(), "GET", "/v2/models/%61dd")[0], 200, "an escape")


def test_in_single_bytes():
    with Front() as f:
        body = add_body().encode()
        s = f.socket()
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for c in raw(POST.format("add", len(body)), body) + b"\r\n\r\n" + raw(GET.format("/v2").replace("\n\n", "\nConnection: close\n\n")):
            s.sendall(bytes([c]))
        equal([a[0] for a in answers(read_all(s))], [200, 200], "both")


def test_refused_while_it_is_sent():
    """A client that sends its whole body before it reads still gets the answer. A client that expects "100 Continue"
    gets it at once."""
    with Front("--body", "1000000") as f:
        for _ in range(5):
            s = f.socket(raw(POST.format("add", 30 << 20)))
            s.sendall(bytes(30 << 20))
            equal([a[0] for a in answers(read_all(s))], [413], "the answer")
        for path, length, status in (("/v2/models/add/infer", 30 << 20, 413), ("/nothing", 5, 404)):
            s = f.socket(raw(f"POST {path} HTTP/1.1\nHost: x\nExpect: 100-continue\nContent-Length: {length}\n\n"))
            equal([a[0] for a in answers(read_all(s))], [status], "without 100")
        is_served(f, "after them")


def rss_kib(f):
    with open(f"/proc/{f.process.pid}/status") as text:
        return int(re.search(r"VmRSS:\s+(\d+)", text.read()).group(1))


def test_pipelining_has_an_end():
    """While one request waits, the next ones stay in the socket."""
    with Front() as f:
        body = add_body().encode()
        before = rss_kib(f)
        floods = [f.socket(raw(POST.format("never", len(body)), body)) for _ in range(20)]
        sent = 0
        for s in floods:
            s.setblocking(False)
            try:
                while True:
                    sent += s.send(raw(GET.format("/v2")) * 10000)
            except BlockingIOError:
                pass
        is_served(f, "meanwhile")
        equal(sent > 8 << 20, True, f"much was sent: {sent}")
        equal(rss_kib(f) - before < 4096, True, f"KiB for {sent >> 10} KiB that were sent: {rss_kib(f) - before}")
        few = [f.socket(raw(POST.format("never", len(body)), body) + raw(GET.format("/v2")) * 1000) for _ in range(2)]
        wait_for("they are asked", lambda: f.count("echo_asked_total") == 23)
        few[0].close()
        few[1].shutdown(socket.SHUT_WR)
        for s in floods:  # a normal close would queue behind all sent data
            s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            s.close()
        wait_for("they are gone", lambda: f.count("echo_gone_total") == 22)
        many = raw(GET.format("/v2/health/live")) * 3000
        s = f.socket(raw(POST.format("later", len(body)), body) + many + raw(GET.format("/v2").replace("\n\n", "\nConnection: close\n\n")))
        equal([a[0] for a in answers(read_all(s))], [200] * 3002, "all of them, in time")


# ---- clients that are slow, silent, too many, or disconnected ---------------------------------------

def test_gone():
    """The model's server learns that a client has disconnected; a request whose body ends early never reaches it."""
    with Front() as f:
        body = add_body().encode()
        waiting = [f.socket(raw(POST.format("never", len(body)), body)) for _ in range(3)]
        later = f.socket(raw(POST.format("later", len(body)), body))
        wait_for("they are asked", lambda: f.count("echo_asked_total") == 4)
        waiting[0].close()
        waiting[1].shutdown(socket.SHUT_WR)
        waiting[2].setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        waiting[2].close()
        wait_for("they are gone", lambda: f.count("echo_gone_total") == 3)
        contains(later.recv(1000).decode(), " 200 ", "the other one's answer")
        short = f.socket(raw(POST.format("add", len(body)), body[:-1]))
        short.close()
        is_served(f, "after them")
        equal(f.count("echo_asked_total"), 5, "asked")


def trickle(s, data, f):
    """Sends a byte at a time while the other side accepts. Returns how many it sent."""
    for i in range(len(data)):
        try:
            s.sendall(data[i:i + 1])
        except OSError:
            return i
        time.sleep(0.02)
        if i % 10 == 0:
            is_served(f, "meanwhile")
        s.setblocking(False)
        try:
            if s.recv(1) == b"":
                return i
        except BlockingIOError:
            pass
        s.setblocking(True)
    return len(data)


def test_trickles_end():
    """A time limit counts for the whole request, not from byte to byte."""
    with Front("--receive", "500", "--idle", "500") as f:
        head = raw("POST /v2/models/add/infer HTTP/1.1\nContent-Length: 100\nX: ") + b"y" * 1000
        equal(trickle(f.socket(), head, f) < len(head), True, "headers")
        equal(trickle(f.socket(raw(POST.format("add", 1000))), b"{" * 1000, f) < 1000, True, "a body")
        equal(trickle(f.socket(), b"G" * 1000, f) < 1000, True, "a request line")
        s = f.socket()
        equal(s.recv(1), b"", "an idle one is closed")


def test_whoever_does_not_read():
    with Front("--send", "500") as f:
        body = json.dumps({"parameters": {"binary_data_output": True},
                           "inputs": [{"name": "n", "datatype": "INT64", "shape": [], "data": [50 << 20]}]}).encode()
        slow = [f.socket(raw(POST.format("many", len(body)), body)) for _ in range(4)]
        for _ in range(20):
            is_served(f, "meanwhile")
        time.sleep(1)  # longer than the limit
        for s in slow:
            equal(len(read_all(s)) < 50 << 20, True, "cut off")


def open_files(count):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < count:
        raise Skipped(f"no {count} descriptors for one process")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, count), hard))


def test_thousand_idle():
    open_files(2000)
    with Front() as f:
        idle = [f.socket() for _ in range(500)]
        for _ in range(500):
            c = f.connect()
            infer(c)
            idle.append(c.sock)
            c.sock = None
        begin, c = f.cpu_s(), f.connect()
        for _ in range(1000):
            infer(c)
        print(f"     {1e6 * (f.cpu_s() - begin) / 1000:.0f} us of CPU a request beside 1,000 idle connections")
        for s in idle:
            s.setblocking(False)
            try:
                equal(s.recv(1), None, "an idle one is closed")
            except BlockingIOError:
                pass


def test_too_many():
    """The longest idle connection is closed for a new one. When none is idle, the new client gets an error."""
    with Front("--connections", "50") as f:
        idle = [f.socket() for _ in range(50)]
        time.sleep(1.2)  # a connection that just came is not closed
        idle += [f.socket() for _ in range(10)]
        for s in idle[:10]:
            equal(s.recv(1), b"", "the first ones are closed")
        is_served(f, "one more")
        for s in idle:
            s.close()
        wait_for("there is room", lambda: not turned_away(f))
        body = add_body().encode()
        waiting = []
        for i in range(50):
            waiting.append(f.socket(raw(POST.format("never", len(body)), body)))
            if i < 49:
                wait_for("it waits", lambda: asked(f) == i + 2)
        headers = wait_for("it is turned away", lambda: turned_away(f))
        equal((headers["Retry-After"], headers["Connection"]), ("1", "close"), "when to come again")
        for s in waiting[:5]:
            s.close()
        wait_for("there is room again", lambda: not turned_away(f))
        for s in waiting:
            s.close()


def asked(f):
    """Returns None when the connection is one too many, among those that are closing."""
    try:
        status, _, text = ask(f.connect(), "GET", "/metrics")
    except (ConnectionError, http.client.HTTPException):
        return None
    return int(re.search(r"^echo_asked_total (\d+)$", text.decode(), re.M).group(1)) if status == 200 else None


def turned_away(f):
    status, headers, _ = ask(f.connect(), "GET", "/v2/health/live")
    return headers if status == 503 else None


def test_bodies_have_a_limit():
    with Front("--bodies", "1000000") as f:
        silent = [f.socket(raw(POST.format("add", 600000))) for _ in range(4)]
        equal(ask(f.connect(), "POST", "/v2/models/add/infer", "x" * 600000, JSON)[0], 400, "what is only announced takes no room")
        first = f.socket(raw(POST.format("add", 600000), b"x" * 599999))
        wait_for("the second is refused", lambda: ask(f.connect(), "POST", "/v2/models/add/infer", "x" * 600000, JSON)[0] == 503)
        headers = refused(f, 503, "as many bytes as the server allows", "POST", "/v2/models/add/infer", "x" * 600000, JSON)
        equal(headers["Retry-After"], "1", "Retry-After")
        is_served(f, "a small one")
        silent[0].sendall(b"x" * 600000)
        contains(silent[0].recv(65536).decode(), " 503 ", "one that had room when it was announced")
        for c in [first, *silent]:
            c.close()
        wait_for("there is room", lambda: ask(f.connect(), "POST", "/v2/models/add/infer", "x" * 600000, JSON)[0] == 400)


# ---- the process ---------------------------------------------------------------------------------

def test_stop():
    """Requests that have begun are answered, new ones are not accepted, and then everything closes."""
    with Front() as f:
        body = add_body().encode()
        idle, half, kept = f.socket(), f.socket(raw(POST.format("add", len(body)), body[:10])), f.connect()
        infer(kept)
        line = f.socket(raw("GET /v2 HTTP/1.1\n"))
        later = f.socket(raw(POST.format("later", len(body)), body))
        wait_for("it is asked", lambda: f.count("echo_asked_total") == 2)
        f.process.send_signal(signal.SIGTERM)
        equal((idle.recv(1), kept.sock.recv(1)), (b"", b""), "idle ones are closed")
        answer = read_all(later).decode()
        contains(answer, " 200 ", "what waited")
        contains(answer, "Connection: close", "what waited")
        try:
            f.socket()
            raise AssertionError("a new connection")
        except ConnectionRefusedError:
            pass
        equal(f.process.poll(), None, "it waits for the last one")
        line.sendall(raw("Host: x\n\n"))
        contains(read_all(line).decode(), "the server is stopping", "what comes now")
        half.sendall(body[10:])
        contains(read_all(half).decode(), " 200 ", "what was begun")
        contains(f.end()[0], "stopped asked=3 gone=0", "its end")


def test_log():
    line = re.compile(r'access event=request method=POST path="/v2/models/add/infer" status=(\d+) in_bytes=(\d+) out_bytes=(\d+) us=\d+ gone=0')
    with Front(log="access:debug") as f:
        infer(f.connect())
        read_all(f.socket(b'GET /a"b\xff?secret=1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'))
        refused(f, 400, "", "POST", "/v2/models/add/infer", "{", JSON)
        err = f.stop()[1]
        equal([m.group(1) for m in line.finditer(err)], ["200", "400"], err)
        contains(err, 'method=GET path="/a?b?" status=404', "what is printable")
        equal("secret" in err, False, "what is behind a question mark")
    with Front() as f:
        infer(f.connect())
        equal(f.stop()[1], "", "off by default")


def test_addresses():
    with Front() as f:
        done = subprocess.run([PROGRAM, "--port", str(f.port), "front"], text=True, capture_output=True, timeout=PATIENCE)
        equal(done.returncode, 1, "a port that is taken")
        contains(done.stderr, f"127.0.0.1 port {f.port}: bind: Address already in use", "why")
    done = subprocess.run([PROGRAM, "--address", "localhost"], text=True, capture_output=True, timeout=PATIENCE)
    contains(done.stderr, "localhost is not an IPv4", "a name")


def rounds(f, clients, request, count):
    """Measures the front's processor microseconds per request: every client asks, then each reads its answer."""
    begin = f.cpu_s()
    for _ in range(count // len(clients)):
        for s in clients:
            s.sendall(request)
        for s in clients:
            contains(s.recv(65536).decode("latin-1"), " 200 ", "an answer")
    return 1e6 * (f.cpu_s() - begin) / count


def test_ten_thousand():
    """Prints the user and system time of the front per request on kept connections; there is no limit."""
    with Front() as f:
        body, headers = binary_request((64, 64), bytes(128), (16,))
        text = add_body([float(i) for i in range(16)], [0.5] * 16).encode()
        extra = f"\r\nInference-Header-Content-Length: {headers['Inference-Header-Content-Length']}\r\n\r\n"
        binary = raw(POST.format("add", len(body))).decode().replace("\r\n\r\n", extra).encode() + body
        clients = [f.socket() for _ in range(10)]
        for what, request in (("JSON", raw(POST.format("add", len(text)), text)), ("binary", binary),
                              ("binary, answered later", binary.replace(b"/add/", b"/later/"))):
            many = clients if what != "binary, answered later" else [f.socket() for _ in range(100)]
            print(f"     {rounds(f, many, request, 10000):.1f} us of CPU a request: {what}, 10,000 of them")
        equal(f.count("echo_asked_total"), 30000, "asked")


# ---- Triton's client -----------------------------------------------------------------------------

def test_triton_client():
    python = triton_python()
    with Front() as f:
        done = subprocess.run([python, os.path.join(HERE, "triton_client.py"), str(f.port), "front"], text=True, capture_output=True,
                              timeout=PATIENCE)
        equal(done.returncode, 0, done.stdout + done.stderr)
        contains(done.stdout, "triton client: all as expected", "its end")


if __name__ == "__main__":
    sys.exit(run_tests(dict(globals())))
