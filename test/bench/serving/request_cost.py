# SPDX-License-Identifier: Apache-2.0
"""The CPU cost of a request in the gateway of salus-serve, compared with a floor: a process that makes the same
system calls between the client and a model and inspects nothing (relay.c).

The two are measured in turn, each sample of the gateway between two of the floor; a sample is dropped if those two
differ much."""
import os
import subprocess
import tempfile
import urllib.request

from harness import BUILD, wait_for

# (clients, largest batch)
WORLDS = [(1, 1), (8, 1), (8, 8), (32, 32)]
ROUNDS, REQUESTS = 11, 2000
GOAL_NS = 50000  # goal for a request in batches of one
STEADY, ENOUGH = 1.5, 5


def program(name):
    return os.path.abspath(os.path.join(BUILD, "test", name))


class Relay:
    def __enter__(self):
        self.process = subprocess.Popen([program("bench/serving/relay")], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        words = self.process.stdout.readline().split()
        self.port, self.pid = words[3], words[5]
        return self

    def __exit__(self, *_):
        self.process.communicate()


class Gateway:
    """salus-serve with a model that adds, with batches of at most `most` requests."""

    def __init__(self, most):
        self.sizes = " ".join(str(1 << i) for i in range(6) if 1 << i <= most)

    def ready(self):
        try:
            return urllib.request.urlopen(f"http://localhost:{self.port}/v2/health/ready").status == 200
        except OSError:
            return False

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="salus-requests-")
        conf = os.path.join(self.folder.name, "models.conf")
        with open(conf, "w") as f:
            f.write(f"[front]\nport = 0\n[model add]\nprogram = {program('serve/adder')}\nsalus = no\nprofile = no\n"
                    f"sizes = {self.sizes}\ninput = a FP32 -1\ninput = b FP32 -1\noutput = y FP32 -1\n")
        self.process = subprocess.Popen([os.path.join(BUILD, "salus-serve"), conf], text=True, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL)
        self.port, self.pid = self.process.stdout.readline().split()[3], str(self.process.pid)
        wait_for("its model is ready", self.ready)
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        self.process.stdout.close()
        self.folder.cleanup()


def row(clients, most, samples, dropped):
    ns, ratios = sorted(s for s, _ in samples), sorted(s / floor for s, floor in samples)
    what = f"a request, {clients} client{'s' if clients > 1 else ''}, batches of {'one' if most == 1 else f'up to {most}'}: CPU of the gateway"
    middle = ns[len(ns) // 2]
    goal = GOAL_NS if most == 1 else 0
    return {"bench": "requests", "what": what, "samples": len(ns), "dropped": dropped, "ns": middle, "values": ns,
            "ratio": ratios[len(ns) // 2], "ratio_p10": ratios[len(ns) // 10], "ratio_p90": ratios[-1 - len(ns) // 10],
            "floor_ns": sorted(floor for _, floor in samples)[len(ns) // 2], "goal": goal, "goal_unit": "ns",
            "verdict": "-" if not goal else "no verdict: the floor moved" if len(ns) < ENOUGH else "met" if middle <= goal else "missed"}


def world(records, clients, most, rounds, requests):
    samples, dropped = [], 0

    def run(server):
        return records([program("bench/serving/request_bench"), server.port, server.pid, str(clients), str(requests)])[0]["ns"]
    with Relay() as relay, Gateway(most) as gateway:
        before = run(relay)
        for _ in range(rounds):
            ns, after = run(gateway), run(relay)
            if max(before, after) > STEADY * min(before, after) and rounds > 1:
                dropped += 1
            else:
                samples.append((ns, (before + after) / 2))
            before = after
    return row(clients, most, samples, dropped) if samples else \
        {"bench": "requests", "what": f"{clients} clients, batches of up to {most}", "samples": 0, "goal": 0, "goal_unit": "",
         "verdict": "no verdict: the floor moved"}


def measure(records, short):
    """`records` runs a program and returns the JSON lines that it prints."""
    return [world(records, clients, most, 1 if short else ROUNDS, 50 if short else REQUESTS) for clients, most in WORLDS]
