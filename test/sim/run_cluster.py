#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""salus-sim cluster as a program: valid and invalid files, drawn jobs that are written and read again, pictures,
JSON.

    test/sim/run_cluster.py    BUILD is the folder of the program
"""
import json
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

SIM = os.path.join(os.environ.get("BUILD", "build"), "salus-sim")
failed = []


def cluster(*args, text=None):
    return subprocess.run([SIM, "cluster", *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, input=text, text=True)


def expect(ok, text):
    if not ok:
        failed.append(text)
        print(f"cluster: failed: {text}", file=sys.stderr)


def policies(*args, text=None):
    done = cluster("--json", *args, text=text)
    expect(done.returncode == 0, f"{args}: {done.stderr}")
    return {p.pop("policy"): p for p in json.loads(done.stdout)["policies"]} if done.returncode == 0 else {}


def check_table():
    done = cluster("--gpus", "16", "--jobs", "300")
    lines = done.stdout.split("\n")
    expect(done.returncode == 0 and lines[0] == "300 jobs on 16 GPUs of 4 nodes", done.stdout + done.stderr)
    names = [line.split()[0] for line in lines[3:] if line]
    expect(names[:3] == ["horus", "horus_f", "fifo"] and len(names) == 10, f"policies: {names}")


def check_again(folder):
    """A workload that was drawn and written gives the same figures when read, from a file and from standard input."""
    path = os.path.join(folder, "jobs.csv")
    drawn = ("--gpus", "24", "--per-node", "8", "--policy", "fifo,horus,pab,gpucolo", "--seed", "4")
    done = cluster("--jobs", "500", *drawn, "--write", path)
    expect(done.returncode == 0 and not done.stdout, f"write: {done.stderr}")
    first, again = policies("--jobs", "500", *drawn), policies(path, *drawn)
    with open(path) as f:
        text = f.read()
    expect(text.count("\n") == 501, "a line a job and a heading")
    expect(policies("-", *drawn, text=text) == again, "standard input is a file")
    for policy, fields in first.items():
        for name, figure in fields.items():
            other = again[policy][name]
            close = name == "days" or abs(figure["mean"] - other["mean"]) <= 1e-4 * abs(figure["mean"]) + 1e-6
            expect(close, f"{policy}, {name}: {figure}, {other}")
    expect(first["horus"]["wait_s"]["mean"] <= first["fifo"]["wait_s"]["mean"], "sharing makes nobody wait longer")


def check_pictures(folder):
    path = os.path.join(folder, "x.svg")
    for args, lines in ((("--jobs", "50"), 0), (("--draw", "horus-trace", "--gpus", "64", "--per-node", "8"), 2)):
        done = cluster(*args, "--policy", "fifo,obp", "--svg", path)
        expect(done.returncode == 0, done.stderr)
        root = xml.etree.ElementTree.parse(path).getroot()
        curves = [e for e in root.iter() if e.tag.endswith("path") and e.get("stroke-width") == "1.5"]
        expect(len(curves) == lines, f"{args}: {len(curves)} curves of days")


def check_faults(folder):
    path = os.path.join(folder, "bad.csv")
    with open(path, "w") as f:
        f.write("arrival_s,length_s,util\n0,10,2\n1,x,1\n")
    done = cluster(path)
    expect(done.returncode == 3 and f"{path}:2: util: '2'" in done.stderr and f"{path}:3: length_s: 'x'" in done.stderr, done.stderr)
    for args, status in ((("--policy", "x"), 2), ((os.path.join(folder, "none"),), 1), (("--draw", "x"), 3), (("--draw", "gpucolo"), 3),
                         ((path, "--draw", "day"), 2), (("--svg", os.path.join(folder, "no", "x.svg"), "--jobs", "9"), 1)):
        done = cluster(*args)
        expect(done.returncode == status and done.stderr.startswith("salus-sim: "), f"{args}: {done.returncode}, {done.stderr}")


def main():
    check_table()
    with tempfile.TemporaryDirectory() as folder:
        check_again(folder)
        check_pictures(folder)
        check_faults(folder)
    if not failed:
        print("cluster: the program does what it says")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
