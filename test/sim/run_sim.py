#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Workloads with the trace that each must give, byte for byte, and the command line of salus-sim.

    test/sim/run_sim.py [--update]      BUILD says where the program is

A file's line `# run: OPTION...` says how it is run. --update writes the traces anew: look at the
difference before committing it.
"""
import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

HERE = os.path.dirname(os.path.abspath(__file__))
SIM = os.path.join(os.environ.get("BUILD", "build"), "salus-sim")
failed = []


def salus_sim(*args, **kwargs):
    return subprocess.run([SIM, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **kwargs)


def expect(ok, text):
    if not ok:
        failed.append(text)
        print(f"sim: failed: {text}", file=sys.stderr)


def check_traces(folder, update):
    files = sorted(glob.glob(os.path.join(HERE, "*.wl")))
    for path in files:
        name = os.path.basename(path)
        with open(path) as f:
            options = next(line for line in f if line.startswith("# run:")).split()[2:]
        got = os.path.join(folder, "trace")
        done = salus_sim("run", path, *options, "--check", "--trace", got)
        expect(done.returncode == 0, f"{name}: {done.stderr}")
        wanted = path[:-2] + "trace"
        if update:
            os.replace(got, wanted)
            continue
        diff = subprocess.run(["diff", "-u", wanted, got], stdout=subprocess.PIPE, text=True)
        expect(diff.returncode == 0, f"{name}:\n{diff.stdout}")
    return len(files)


def check_command_line(folder):
    path = os.path.join(HERE, "srtf.wl")
    page = open(os.path.join(HERE, "../../docs/man/salus-sim.1.scd")).read()
    usage = salus_sim("--help")
    expect(usage.returncode == 0, "--help")
    for flag in set(re.findall(r"--[a-z-]+", usage.stdout)):
        expect(flag in page.replace("\\", ""), f"{flag} is not in the manual page")
    for args in ([], ["walk", path], ["run"], ["run", path, "--frob", "1"], ["run", path, "--seed", "x"],
                 ["run", path, "--set", "colour=1"], ["run", path, "--set", "swap=2"], ["run", path, "--window"],
                 ["run", path, "--window", "0"], ["generate"], ["generate", "--kind", "none"]):
        done = salus_sim(*args)
        expect(done.returncode == 2 and done.stderr, f"{args}: usage, not {done.returncode}: {done.stderr}")
    expect(salus_sim("run", path, "--policy", "lottery").returncode == 1, "an unknown policy")
    expect(salus_sim("run", os.path.join(folder, "absent")).returncode == 1, "an absent file")
    bad = salus_sim("check", "-", input="job name=a\nfrob\n")
    expect(bad.returncode == 3, "a file with faults")
    expect("-:1: persistent is missing\n" in bad.stderr and "-:2: 'frob'" in bad.stderr, f"its faults: {bad.stderr}")
    expect(salus_sim("check", path).stdout == f"{path}: 3 jobs\n", "check")


def check_outputs(folder):
    """Each output is what its name says, a file a policy, the same bytes again."""
    path = os.path.join(folder, "table2.wl")
    for _ in range(2):
        salus_sim("generate", "--kind", "salus-table2", "--seed", "3", "-o", path, check=True)
    names = {"--timeline": "t.json", "--svg": "t.svg", "--rates": "t.csv"}
    args = [x for option, name in names.items() for x in (option, os.path.join(folder, name))]
    first, second = (salus_sim("run", path, "--policy", "srtf,fair", "--per-job", *args) for _ in range(2))
    expect(first.returncode == 0 and first.stdout == second.stdout, f"the same bytes twice {first.stderr}")
    report = json.loads(first.stdout)
    expect([r["policy"] for r in report["runs"]] == ["srtf", "fair"], "a run a policy")
    for run in report["runs"]:
        expect(len(run["jobs"]) == 100, "a record a job")
        ends = [j["end_s"] - j["arrival_s"] for j in run["jobs"]]
        expect(abs(sum(ends) / 100 - run["jct_mean_s"]) < 1e-5, "the mean is that of the records")
        with open(os.path.join(folder, f"t-{run['policy']}.json")) as f:
            events = json.load(f)["traceEvents"]
        ran = [e for e in events if e["ph"] == "X" and "args" in e]
        expect(sum(e["args"]["iterations"] for e in ran) == sum(j["iterations"] for j in run["jobs"]),
               "the timeline has every iteration")
        for e in ran:
            if not 0 < e["args"]["ran_us"] <= e["dur"] + 1e-3:
                expect(False, f"an event ran longer than it lasts: {e}")
                break
        svg = xml.etree.ElementTree.parse(os.path.join(folder, f"t-{run['policy']}.svg")).getroot()
        rows = [e.text for e in svg.iter() if e.tag.endswith("text")]
        expect(all(j["name"] in rows for j in run["jobs"]), "the picture names every job")
        expect(len(list(svg.iter())) < 30000, "the picture is bounded")
        with open(os.path.join(folder, f"t-{run['policy']}.csv")) as f:
            counted = sum(int(line.rsplit(",", 1)[1]) for line in f.readlines()[1:])
        expect(counted == sum(j["iterations"] for j in run["jobs"]), "the rates count every iteration")


def main():
    update = "--update" in sys.argv
    with tempfile.TemporaryDirectory() as folder:
        traces = check_traces(folder, update)
        check_command_line(folder)
        check_outputs(folder)
    if not failed:
        print(f"sim: {traces} traces, command line and outputs as they should be")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
