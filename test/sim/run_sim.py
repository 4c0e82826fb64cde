#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Workloads with their expected traces, byte for byte, and the command line of salus-sim.

    test/sim/run_sim.py [--update]    BUILD is the folder of the program

A file's line `# run: OPTION...` gives the options of its run. If there are several such lines, the name of each
trace also has the last word of its line. Every trace is a recording, and must replay to itself. --update writes
the traces again: look at the difference before committing it.
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
    runs = []
    for path in sorted(glob.glob(os.path.join(HERE, "*.wl"))):
        with open(path) as f:
            lines = [line.split()[2:] for line in f if line.startswith("# run:")]
        runs += [(path, o, path[:-3] + (f"-{o[-1]}" if len(lines) > 1 else "") + ".trace") for o in lines]
    for path, options, wanted in runs:
        name = os.path.basename(wanted)
        got = os.path.join(folder, "trace")
        done = salus_sim("run", path, *options, "--check", "--trace", got)
        expect(done.returncode == 0, f"{name}: {done.stderr}")
        if update:
            os.replace(got, wanted)
            continue
        diff = subprocess.run(["diff", "-u", wanted, got], stdout=subprocess.PIPE, text=True)
        expect(diff.returncode == 0, f"{name}:\n{diff.stdout}")
        done = salus_sim("replay", wanted)
        expect(done.returncode == 0 and "all the same" in done.stdout, f"replay {name}: {done.stdout}")
    return len(runs)


def check_damage(folder):
    """An invalid or incomplete recording is rejected with its line; for a wrong one, the actual actions are shown."""
    with open(os.path.join(HERE, "mix-slack.trace")) as f:
        text = f.read()
    head, steps = text.split("@", 1)
    damaged = {
        "empty": ("", 3, "cut off"),
        "another file": ("device memory=1GiB\n", 3, ":1: the file is not a recording"),
        "no configuration": ("salus-events 1\n@" + steps, 3, "is not a configuration"),
        "a policy of no name": (text.replace("kernel=slack", "kernel=lottery"), 3, "lottery"),
        "cut in a line": (text[:-20], 3, "cut off"),
        "cut between lines": (text[:-len("end\n")], 3, "the line 'end' is missing"),
        "more behind it": (text + "@1\n", 3, "text follows the recording's end"),
        "an event that is none": (text.replace("\n1:", "\n1;", 1), 3, "is not an event"),
        "an event of no step": (head + ".\n@" + steps, 3, "belongs to no step"),
        "time goes back": (text.replace("\nend\n", "\n@1\nend\n"), 3, "the time decreases"),
        "a long line": (head + "# " + 2000 * "x" + "\n@" + steps, 3, "longer than"),
        "a checkpoint without bytes": (head + "checkpoint 64 x 0\n@" + steps, 3, "build x"),
        "an action more": (text.replace("\nend\n", "\n> run 1:1\nend\n"), 4, "replayed: nothing"),
        "an action less": (text.replace("\n> run", "\n# run", 1), 4, "recorded: "),
        "another action": (text.replace("> run 1:0", "> run 2:0", 1), 4, "replayed: run 1:0"),
        "another event": (text.replace("h1", "", 1), 4, "differs, in line"),
    }
    for what, (broken, status, words) in damaged.items():
        expect(broken != text, f"{what}: nothing is damaged")
        path = os.path.join(folder, "broken")
        with open(path, "w") as f:
            f.write(broken)
        done = salus_sim("replay", path)
        expect(done.returncode == status and words in done.stdout + done.stderr,
               f"replay, {what}: {done.returncode} {done.stdout[-300:]}{done.stderr}")
    return len(damaged)


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
    """Each output contains what its name says, one file per policy, the same bytes again."""
    path = os.path.join(folder, "table2.wl")
    for _ in range(2):
        salus_sim("generate", "--kind", "salus-table2", "--seed", "3", "-o", path, check=True)
    names = {"--timeline": "t.json", "--svg": "t.svg", "--rates": "t.csv"}
    args = [x for option, name in names.items() for x in (option, os.path.join(folder, name))]
    first, second = (salus_sim("run", path, "--policy", "srtf,fair", "--per-job", *args) for _ in range(2))
    expect(first.returncode == 0 and first.stdout == second.stdout, f"the same bytes twice {first.stderr}")
    report = json.loads(first.stdout)
    expect([r["policy"] for r in report["runs"]] == ["srtf", "fair"], "a run a policy")
    alone = {i: j["end_s"] - j["arrival_s"] for i, j in enumerate(report["alone"]["jobs"])}
    for i, j in enumerate(report["runs"][0]["jobs"]):
        expect(abs(j["slowdown"] - (j["end_s"] - j["arrival_s"]) / alone[i]) < 1e-3, f"a slowdown is of the time alone: {j}")
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


TABLE = """Name,Profile,Memory_footprint,SM_usage,Duration
Conv,1,0,98,100480
void at::native::kernel<(int)4, float>,0,0,32,23328
"void at::native, quoted",-1,0,392,32512
"""


def check_orion(folder):
    """Workloads from tables of kernels, and invalid tables."""
    with open(os.path.join(folder, "small.csv"), "w") as f:
        f.write(TABLE)
    with open(os.path.join(folder, "gaps.json"), "w") as f:
        json.dump([0.001, 0.0025, 0.004], f)
    args = ["generate", "--kind", "orion", "--tables", folder]
    wl = os.path.join(folder, "orion.wl")
    done = salus_sim(*args, "--high", "small", "--arrivals", "poisson:400", "--best", "small", "--think", "50us", "--best", "small",
                     "--arrivals", "shuffled:gaps.json", "--until", "300ms", "--launch", "2us", "--dispatch", "0",
                     "-o", wl)
    expect(done.returncode == 0, f"generate --kind orion: {done.stderr}")
    text = open(wl).read()
    kernels = "kernels name=small\nk 100480ns sms=98 class=compute\nk 23328ns sms=32 class=memory\nk 32512ns sms=392\n"
    expect(text.count(kernels) == 1, f"the table's kernels: {text}")
    expect("gaps name=gaps\n1ms 2500us 4ms\n" in text, f"the gaps: {text}")
    for end in ("every=exp(2500us) launch=2us priority=1\n", "think=50us kernels=small launch=2us\n", "every=shuffled:gaps launch=2us\n"):
        expect(text.count(end) == 1, f"{end} in {text}")
    for name, content, sentence in (
            ("short", "Name,Profile\nConv,1,0\n", "short.csv:2: the last four columns are not numbers"),
            ("range", TABLE + "x,2,0,1,5\n", "range.csv:5: Profile 2"), ("none", TABLE.splitlines()[0] + "\n", "none is empty")):
        with open(os.path.join(folder, name + ".csv"), "w") as f:
            f.write(content)
        done = salus_sim(*args, "--high", name)
        expect(done.returncode == 2 and sentence in done.stderr, f"{name}: {done.stderr}")
    for content in ("", "{}", "[1, 2", "[0.1, x]", "[-1]", "[]", "[1e99]"):
        with open(os.path.join(folder, "bad.json"), "w") as f:
            f.write(content)
        done = salus_sim(*args, "--high", "small", "--arrivals", "gaps:bad.json")
        expect(done.returncode == 2 and "bad.json" in done.stderr, f"{content!r}: {done.stderr}")
    many = salus_sim(*args, *(["--best", "small"] * 200), "--until", "1ms")
    expect(many.returncode == 0 and many.stdout.count("job name=small") == 200, f"200 jobs: {many.stderr}")
    many = salus_sim(*args, *(["--best", "small"] * 1001))
    expect(many.returncode == 2 and "at most 1000 jobs" in many.stderr, f"1001 jobs: {many.stderr}")
    for bad in (["--high", "absent"], [], ["--arrivals", "closed"], ["--high", "small", "--arrivals", "often"],
                ["--high", "small", "--arrivals", "poisson:0"]):
        done = salus_sim(*args, *bad)
        expect(done.returncode == 2 and done.stderr, f"{bad}: {done.returncode} {done.stderr}")
    return wl


def check_compare(folder, wl):
    """One table and one picture over all policies, the same bytes again."""
    svg = os.path.join(folder, "compare.svg")
    first, second = (salus_sim("compare", wl, "--seeds", "3", "--json", "--svg", svg) for _ in range(2))
    expect(first.returncode == 0 and first.stdout == second.stdout, f"compare: {first.stderr}")
    report = json.loads(first.stdout)
    names = [r["policy"] for r in report["policies"]]
    expect({"streams", "temporal", "ticktock", "reef", "orion"} <= set(names), f"every policy: {names}")
    expect([j["priority"] for j in report["alone"]["jobs"]] == [1, 0, 0], "a record a job")
    for r in report["policies"]:
        total = sum(j["rate_of_alone"]["mean"] for j in r["jobs"])
        expect(abs(total - r["total"]["mean"]) < 1e-6, f"{r['policy']}: the total is the sum of the parts")
        expect(0 < r["fairness"]["mean"] <= 1 + 1e-9, f"{r['policy']}: fairness {r['fairness']}")
        expect(all(j["p99_s"]["mean"] >= j["p50_s"]["mean"] for j in r["jobs"] if j["p99_s"]), r["policy"])
    table = salus_sim("compare", wl, "--seeds", "3").stdout.splitlines()
    expect(len(table) == 1 + 3 * (1 + len(names)), f"a line a policy and job: {table}")
    svg = xml.etree.ElementTree.parse(svg).getroot()
    rows = [e.text for e in svg.iter() if e.tag.endswith("text")]
    expect(all(rows.count(n) == 2 for n in names), "both panels name every policy")
    expect("small (high priority)" in rows and "orion.wl" in rows, "the picture says what it shows")
    run = salus_sim("run", wl, "--policy", "fair", "--kernel", "orion", "--set", "dur_threshold=2.5%", "--per-job")
    expect(run.returncode == 0, f"run with kernels: {run.stderr}")
    expect(salus_sim("compare", os.path.join(HERE, "srtf.wl")).returncode == 1, "a workload without kernels")
    expect(salus_sim("compare", wl, "--policy", "lottery").returncode == 1, "an unknown kernel policy")
    for bad in ("dur_threshold=200%", "dur_threshold=%", "sizes=2", "inflight_cap=x", "preempt=5"):
        done = salus_sim("compare", wl, "--set", bad)
        expect(done.returncode in (1, 2) and done.stderr, f"--set {bad}: {done.returncode}")


def check_advise(folder, wl):
    """An answer, the same again, with a picture; and the usage text."""
    svg, trains = os.path.join(folder, "advise.svg"), os.path.join(HERE, "srtf.wl")
    first, second = (salus_sim("advise", wl, wl, "--starts", "3", "--json", "--svg", svg) for _ in range(2))
    expect(first.returncode == 0 and first.stdout == second.stdout, f"advise: {first.stderr}")
    report = json.loads(first.stdout)
    expect(report["goal"] == "throughput" and report["starts"] == 3 and report["together"] in (True, False), f"all of them serve: {report['goal']}")
    for row in report["policies"]:
        expect([j["file"] for j in row["jobs"]].count(2) == 3, "each file's jobs")
        for j in row["jobs"]:
            s = j["slowdown"]
            expect(s is None or s["least"] <= s["mean"] * (1 + 1e-5) and s["mean"] <= s["most"] * (1 + 1e-5), f"{j}")
    texts = [e.text for e in xml.etree.ElementTree.parse(svg).getroot().iter() if e.tag.endswith("text")]
    expect("fair/slack" in texts and any(t.startswith("Time relative to the time alone") for t in texts), "the picture")
    said = salus_sim("advise", trains, trains, "--goal", "fair")
    expect(said.returncode == 0 and "Certainty: " in said.stdout, said.stderr)
    expect(" (srtf.wl) alone: " in said.stdout, said.stdout)
    for args in ([], [trains] * 9, [trains, "--goal", "none"], [trains, "--starts", "0"], [trains, "--most-loss", "x"]):
        expect(salus_sim("advise", *args).returncode == 2, f"advise {args}: usage")
    expect(salus_sim("advise", trains, wl).returncode == 1, "files of two grains")


def check_slos(folder):
    """Results of latency targets: in the tables, in JSON and period by period, the same under run and compare."""
    wl, lines = os.path.join(HERE, "slo.wl"), os.path.join(folder, "slos.csv")
    keys = ["--set", "period=1ms", "--set", "period_requests=2", "--set", "period_cycles=1", "--set", "most_pause=1ms", "--set", "share_first=no"]
    run = salus_sim("run", wl, "--policy", "pack", "--set", "control=gpucolo", *keys, "--per-job", "--slos", lines)
    expect(run.returncode == 0, f"run with a target: {run.stderr}")
    service, trainer = json.loads(run.stdout)["runs"][0]["jobs"]
    expect((service["target_s"], service["target_of"]) == (150e-6, "mean"), f"the target: {service}")
    expect("target_s" not in trainer and trainer["pause_ms"] > 0 and 0 < trainer["share"] <= 1, f"what it cost: {trainer}")
    with open(lines) as f:
        rows = [line.strip().split(",") for line in f]
    expect(rows[0] == ["time_s", "job", "target_s", "measured_s", "pause_s", "share"], f"{rows[0]}")
    measured = [float(r[3]) for r in rows[1:] if r[1] == "serve.1"]
    expect(len(measured) > 3, f"a line a period: {rows}")
    expect(abs(sum(measured) / len(measured) * 1e3 - service["measured_ms"]) < 1e-6, "the mean is that of the periods")
    compared = json.loads(salus_sim("compare", wl, "--policy", "streams", "--control", "open,gpucolo", *keys, "--json").stdout)
    expect([(r["policy"], r["control"]) for r in compared["policies"]] == [("streams", "open"), ("streams", "gpucolo")], "rows")
    error = [r["jobs"][0]["error"] for r in compared["policies"]]
    expect(error[1] < error[0], f"nearer to the target than without a controller: {error}")
    table = salus_sim("compare", wl, "--policy", "streams", "--control", "open,gpucolo", *keys).stdout
    expect(table.count("streams/gpucolo") == 2 and "VIOLATED" in table, f"both tables: {table}")
    expect("VIOLATED" in salus_sim("run", wl, "--policy", "pack").stdout, "without a controller too")
    expect("VIOLATED" not in salus_sim("run", os.path.join(HERE, "kernels.wl"), "--policy", "pack").stdout, "of nobody nothing")
    expect(salus_sim("compare", wl, "--control", "lottery").returncode == 1, "an unknown controller")


def check_serve(folder):
    """Finish rates, the same bytes again, and invalid arguments."""
    gaps = os.path.join(folder, "gaps.json")
    with open(gaps, "w") as f:
        json.dump([0.001, 0.0025, 0.004], f)
    args = ("serve", "--requests", "300", "--seeds", "2", "--slo", "1.5,5", "--arrivals", f"gaps:{gaps}")
    first, second = (salus_sim(*args, "--json") for _ in range(2))
    expect(first.returncode == 0 and first.stdout == second.stdout and not first.stderr, f"serve: {first.stderr}")
    report = json.loads(first.stdout)
    expect([row["slo"] for row in report["slos"]] == [1.5, 5], f"a row a deadline: {report}")
    for row in report["slos"]:
        expect({"orloj", "clockwork", "nexus", "clipper", "edf", "infer5"} <= {p["policy"] for p in row["policies"]}, f"every policy: {row}")
    table = salus_sim(*args, "--policy", "orloj,edf", "--detail").stdout.splitlines()
    expect(table[2].split() == ["SLO", "orloj", "edf"] and len(table) == 3 + 2 * 3, f"a line a deadline, and one a policy: {table}")
    for bad in (["--modes", "9"], ["--set", "own=2"], ["srtf.wl"], ["--arrivals", "gaps:absent"], ["--low", "2s"]):
        done = salus_sim("serve", *bad)
        expect(done.returncode == 2 and done.stderr, f"serve {bad}: {done.returncode}")
    expect(salus_sim("serve", "--policy", "lottery").returncode == 1, "an unknown policy of batches")


def check_tune(folder):
    """Times of tuning jobs, the same bytes again, FIFO as the baseline, and invalid arguments."""
    args = ("tune", "--algorithm", "grid,hyperband", "--gpus", "4,8", "--seeds", "2", "--mode", "fluid,fifo,fill")
    first, second = (salus_sim(*args, "--json") for _ in range(2))
    expect(first.returncode == 0 and first.stdout == second.stdout and not first.stderr, f"tune: {first.stderr}")
    jobs = json.loads(first.stdout)["jobs"]
    expect([(j["algorithm"], j["gpus"], j["mode"]) for j in jobs] ==
           [(a, g, m) for a in ("grid", "hyperband") for g in (4, 8) for m in ("fluid", "fifo", "fill")], "a job each, in order")
    for j in jobs:
        expect(j["mode"] != "fifo" or j["faster"] == 1 and j["resizes"]["mean"] == 0, f"FIFO: {j}")
        expect(j["mode"] == "fifo" or j["faster"] > 1.05, f"Fluid is faster: {j}")
    table = salus_sim(*args).stdout.splitlines()
    expect(len(table) == 1 + len(jobs) and all(len(row) == len(table[0]) for row in table[1:]), f"a line a job: {table[:3]}")
    packing = {a: json.loads(salus_sim("tune", "--algorithm", "grid", "--spread", "1", "--alpha", a, "--json").stdout)["jobs"][1]
               for a in ("1.2", "10")}
    expect(packing["1.2"]["faster"] > 1.3 and 0.9 < packing["10"]["faster"] < 1.1, f"packing that costs ten times is none (Fig. 3.13a): {packing}")
    for bad in (["--gpus", "0"], ["--algorithm", "oracle"], ["--mode", "lifo"], ["--task", "none"], ["--alpha", "0.5"], ["srtf.wl"],
                ["--change", "x"], ["--seeds"], ["--noise", "nan"], ["--gpus", "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17"]):
        done = salus_sim("tune", *bad)
        expect(done.returncode == 2 and done.stderr, f"tune {bad}: {done.returncode}")


def main():
    update = "--update" in sys.argv
    with tempfile.TemporaryDirectory() as folder:
        traces = check_traces(folder, update)
        damaged = check_damage(folder)
        check_command_line(folder)
        check_outputs(folder)
        wl = check_orion(folder)
        check_compare(folder, wl)
        check_advise(folder, wl)
        check_slos(folder)
        check_serve(folder)
        check_tune(folder)
    if not failed:
        print(f"sim: {traces} traces, {damaged} damaged ones, command line and outputs as they should be")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
