#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests lanes, turns and policies in the real daemon on the software GPU, with unmodified programs.

    test/e2e/sharing/run_sharing.py [--list] [NAME-PART...]

Compares every job's result with that of a run alone. About time, only shares of the device's time and counts of
iterations are asserted; figures in seconds are only printed.
"""
import json
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from harness import PATIENCE, Daemon, checksum_of, program, run_tests, wait_for

MIB = 1 << 20
solo_cache = {}


def equal(got, want, what):
    if got != want:
        raise AssertionError(f"{what}: {got!r}, expected {want!r}")


def require(condition, what):
    if not condition:
        raise AssertionError(what)


def solo(argv):
    """Returns the checksum of a program that has the whole device."""
    key = tuple(argv)
    if key not in solo_cache:
        with Daemon() as d:
            solo_cache[key] = d.checksum(argv)
    return solo_cache[key]


def trainer(iterations, model=4, temporaries=8, passes=16, stuck=0):
    return [program("trainer")] + [str(a) for a in (iterations, model, temporaries, passes, stuck)]


def word(persistent, ephemeral, **more):
    """Returns the environment of a job that gives its reservation, in MiB, with room for its code, and marks its
    iterations. mark=0: the daemon finds the iterations itself."""
    env = {"SALUS_PERSISTENT": f"{persistent + 4}MiB", "SALUS_EPHEMERAL": f"{ephemeral}MiB",
           "SALUS_MARK": "1"}
    env.update({f"SALUS_{k.upper()}": str(v) for k, v in more.items()})
    return env


def start(d, name, argv, env, **popen):
    p = d.start(argv, SALUS_JOB_NAME=name, **env)
    p.salus = (name, argv)
    return p


def finish(p, d):
    """Checks that the process has ended well with the result of a run alone. Returns its record in the history."""
    name, argv = p.salus
    try:
        out, err = p.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        jobs = json.dumps(d.jobs(), indent=1)
        p.kill()
        raise AssertionError(f"{name} hangs\n{jobs}\n{d.ctl('lane', 'list').stdout}\n{d.log()[-3000:]}")
    done = subprocess.CompletedProcess(argv, p.returncode, out, err)
    equal(checksum_of(done, d), solo(argv), f"checksum of {name}")
    return wait_for(f"{name} in the history", lambda: ended(d, name))


def ended(d, name):
    found = [j for j in d.ctl_json("history")["history"] if j["name"] == name]
    return found[-1] if found else None


def job(d, name):
    return next((j for j in d.jobs() if j["name"] == name), None)


def shares(d, names, seconds, settled=lambda parts: True):
    """Returns the jobs' shares of the device's time in the next `seconds`, and the device's time per second. Retries
    with up to ten times as long until the shares have settled: on a busy machine jobs come late for their turns."""
    before, t0 = {n: job(d, n)["busy_seconds"] for n in names}, time.monotonic()
    while True:
        time.sleep(seconds)
        after, t1 = {n: job(d, n)["busy_seconds"] for n in names}, time.monotonic()
        got = [after[n] - before[n] for n in names]
        parts = [g / sum(got) for g in got]
        if settled(parts) or t1 - t0 > 10 * seconds:
            return parts, sum(got) / (t1 - t0)


def jain(values):
    return sum(values) ** 2 / (len(values) * sum(v * v for v in values))


# ---- fair ---------------------------------------------------------------------------------------

def equal_parts(parts):
    return jain(parts) >= 0.98 and all(abs(p - 1 / len(parts)) < 0.05 for p in parts)


def fair_phases(d, names, argv, env):
    """Returns the shares of each phase: with one job, two, three (Salus, Fig. 11)."""
    running, phases = [], []
    for name in names:
        running.append(start(d, name, argv, env))
        wait_for(f"{name} iterates", lambda: (job(d, name) or {}).get("iterations", 0) > 3)
        phases.append(shares(d, names[:len(running)], 3.0, equal_parts))
    return running, phases


def test_fair_shares_of_equal_jobs_in_one_lane():
    """Salus, Fig. 11: shares 1, 1/2, 1/3 as three equal jobs arrive, and a constant sum."""
    argv, names = trainer(100000, 2, 2, 1), ["a", "b", "c"]
    with Daemon("--device-memory", "20MiB", "--lane-policy", "fair") as d:
        running, phases = fair_phases(d, names, argv, word(2, 2))
        lanes = d.ctl_json("lane", "list")["lanes"]
        equal([l["jobs"] for l in lanes], [3], "jobs by lane")
        for p in running:
            p.kill()
            p.communicate()
    for k, (got, total) in enumerate(phases):
        print(f"    {k + 1} jobs: shares {' '.join(f'{g:.3f}' for g in got)}  Jain {jain(got):.4f}"
              f"  device {total:.2f} s/s", flush=True)
        require(jain(got) >= 0.98, f"Jain's index of {k + 1} jobs is {jain(got):.4f}")
        for g in got:
            require(abs(g - 1 / (k + 1)) < 0.05, f"a share of {g:.3f} among {k + 1}")
    totals = [t for _, t in phases]
    require(min(totals) > 0.4 * max(totals), f"the device is idle while jobs wait: {totals}")


def weights_count(memory, lanes):
    """A job of weight 3 beside one of weight 1, and then both of the same weight."""
    argv = trainer(100000, 2, 2, 1)
    with Daemon("--device-memory", memory, "--lane-policy", "fair") as d:
        a = start(d, "light", argv, word(2, 2))
        b = start(d, "heavy", argv, word(2, 2, weight=3))
        for n in ("light", "heavy"):
            wait_for(f"{n} iterates", lambda: (job(d, n) or {}).get("iterations", 0) > 3)
        equal(len({job(d, n)["lane"] for n in ("light", "heavy")}), lanes, "lanes")
        got, _ = shares(d, ["light", "heavy"], 5, lambda parts: abs(parts[1] - 0.75) < 0.05)
        print(f"    {lanes} lanes, weights 1 and 3: shares {got[0]:.3f} {got[1]:.3f}", flush=True)
        require(abs(got[1] - 0.75) < 0.05, f"weight 3 of 4 received {got[1]:.3f}")
        d.ctl("job", "set", str(job(d, "light")["id"]), "weight=3")
        time.sleep(0.3)
        got, _ = shares(d, ["light", "heavy"], 5, lambda parts: abs(parts[1] - 0.5) < 0.05)
        require(abs(got[1] - 0.5) < 0.05, f"equal weights: {got[1]:.3f}")
        for p in (a, b):
            p.kill()
            p.communicate()


def test_fair_weights_in_one_lane():
    weights_count("14MiB", 1)


def test_fair_weights_of_lanes():
    weights_count("64MiB", 2)


def test_time_of_overlapping_lanes_is_split():
    """Two jobs in lanes of their own run side by side. Together they are charged no more time than the device's threads
    had, and each about half."""
    argv, threads = trainer(100000, 2, 2, 1), 2
    with Daemon("--device-memory", "64MiB", "--lane-policy", "pack", "--device-threads", str(threads)) as d:
        running = [start(d, n, argv, word(2, 2)) for n in ("a", "b")]
        for n in ("a", "b"):
            wait_for(f"{n} iterates", lambda: (job(d, n) or {}).get("iterations", 0) > 3)
        require(job(d, "a")["lane"] != job(d, "b")["lane"], "they share a lane")
        got, total = shares(d, ["a", "b"], 3, lambda parts: jain(parts) > 0.9)
        print(f"    two lanes: shares {got[0]:.3f} {got[1]:.3f}, {total:.2f} s of {threads} threads a second",
              flush=True)
        require(total < 1.1 * threads, f"{total:.2f} s a second charged of {threads} threads")
        require(jain(got) > 0.9, f"shares {got}")
        for p in running:
            p.kill()
            p.communicate()


# The holder of a turn keeps it to the iteration's end, also on a machine that gives it no processor meanwhile.
PATIENT = ("--lease", "1h", "--lease-factor", "1000", "--idle-turn", "1h")


def test_switching_moves_no_byte():
    """Two jobs alternate in one lane, iteration by iteration; both results are right."""
    for times in (40, 200, 1000): # more iterations if one job began when the other was about to end
        argv = trainer(times, 2, 8, 8)
        with Daemon("--device-memory", "22MiB", "--lane-policy", "fair", *PATIENT) as d:
            done = [finish(p, d) for p in [start(d, n, argv, word(2, 8)) for n in ("a", "b")]]
        if all(j["switches"] >= 20 for j in done):
            break
    for j in done:
        print(f"    {j['name']}: {j['iterations']} iterations, {j['switches']} switches,"
              f" {j['switched_bytes']} bytes moved", flush=True)
        require(j["switches"] >= 20, f"{j['name']} got the turn only {j['switches']} times")
        equal(j["switched_bytes"], 0, f"bytes moved by switches to {j['name']}")


def test_graphs_share_a_lane_in_time():
    """Allocations of graphs belong to an iteration: two jobs run with room for one iteration's. Allocations that
    outlive it are kept."""
    for times in ("30", "200", "1000"): # more iterations if one job began when the other was about to end
        argv = [program("graph_trainer"), times, "2", "8", "1"]
        with Daemon("--device-memory", "30MiB", "--lane-policy", "fair", *PATIENT) as d:
            started = [start(d, n, argv, word(4, 12)) for n in ("a", "b")]
            done = [finish(p, d) for p in started]
        if all(j["switches"] >= 20 for j in done):
            break
    for j in done:
        print(f"    {j['name']}: {j['iterations']} iterations, {j['survivors']} survivors,"
              f" {j['switches']} switches, {j['switched_bytes']} bytes moved", flush=True)
        require(j["switches"] >= 20, f"{j['name']} got the turn only {j['switches']} times")
        require(j["survivors"] >= 20, f"{j['name']}: {j['survivors']} losses lived over a boundary")
        require(j["ephemeral_peak_bytes"] >= 10 * MIB, f"{j['name']}: {j['ephemeral_peak_bytes']} bytes ephemeral")
        require(j["persistent_peak_bytes"] < 12 * MIB, f"{j['name']}: {j['persistent_peak_bytes']} bytes persistent")
        equal(j["switched_bytes"], 0, f"bytes moved by switches to {j['name']}")


def test_graphs_memory_is_spilled_swapped_and_comes_back():
    """Leases end within iterations, and only two of four jobs fit."""
    for steps in ("60", "200", "600"): # more steps if one job began when the others were about to end
        with Daemon("--device-memory", "190MiB", "--lane-policy", "fair", "--lease", "1ms", "--swap", "yes") as d:
            started = [start(d, f"job{seed}", [program("graph_memory"), steps, str(seed)], word(26, 110))
                       for seed in range(1, 5)]
            done = [finish(p, d) for p in started]
        moved, swaps = sum(j["switched_bytes"] for j in done), sum(j["swaps"] for j in done)
        if moved > 0 and swaps > 0:
            break
    print(f"    {steps} steps: {moved // MIB} MiB moved by switches, {swaps} swaps", flush=True)
    require(moved > 0, "nothing was spilled")
    require(swaps > 0, "nobody was swapped")


# ---- srtf, fifo, pack -----------------------------------------------------------------------------

def test_srtf_preempts_a_long_job_within_an_iteration():
    # However late the short job is seen, the long one has more left; the test does not wait for the long one.
    long_argv, short_argv = trainer(100000, 2, 8, 16), trainer(8, 2, 8, 16)
    with Daemon("--device-memory", "22MiB", "--lane-policy", "srtf", *PATIENT) as d:
        a = start(d, "long", long_argv, word(2, 8, iterations=100000))
        wait_for("the long job iterates", lambda: (job(d, "long") or {}).get("iterations", 0) > 8)
        seen = []
        for _ in range(10):  # a short job may have ended before the second look
            b = start(d, "short", short_argv, word(2, 8, iterations=8))
            seen = []
            while b.poll() is None:
                now = {j["name"]: j["iterations"] for j in d.jobs()}
                if 1 <= now.get("short", 0) < 7: # the last of the eight iterations has not begun
                    seen.append(now["long"])
            if len(seen) >= 2:
                break
            finish(b, d)
        require(len(seen) >= 2, "the short job was not seen to iterate")
        made = max(seen) - min(seen)
        print(f"    the long job made {made} iterations while the short one ran", flush=True)
        require(made <= 1, f"the long job made {made} iterations meanwhile")
        finish(b, d)
        a.kill()
        a.communicate()


def makespan(d, argv, env, count):
    """Returns the seconds, and the most turns at the same time. Counts turns by lane, since the list of lanes is one
    snapshot and the list of jobs is not."""
    begin = time.monotonic()
    started = [start(d, f"job{i}", argv, env) for i in range(count)]
    turns = 0
    while any(p.poll() is None for p in started):
        turns = max(turns, sum(1 for l in d.ctl_json("lane", "list")["lanes"] if l["holder"]))
        time.sleep(0.01)
    seconds = time.monotonic() - begin
    for p in started:
        finish(p, d)
    return seconds, turns


def test_pack_runs_small_jobs_side_by_side_and_fifo_one_at_a_time():
    argv, env, seen = trainer(6, 2, 2, 8), word(2, 2), {}
    for policy in ("fifo", "pack"):
        with Daemon("--device-memory", "256MiB", "--lane-policy", policy) as d:
            seen[policy] = makespan(d, argv, env, 20)
    print("    20 jobs: " + ", ".join(f"{p} {s:.2f} s, {t} turns at once"
                                      for p, (s, t) in seen.items()), flush=True)
    equal(seen["fifo"][1], 1, "turns at once under fifo")
    require(seen["pack"][1] >= 2, f"pack gave {seen['pack'][1]} turns at once")


# ---- more jobs than memory --------------------------------------------------------------------------

def oversubscribed(policy, *options, persistent, ephemeral, count):
    """Runs jobs with reservations of three times the device's memory; the results are those of runs alone."""
    with Daemon("--device-memory", f"{(persistent + 4 + ephemeral) * count // 3}MiB",
                "--lane-policy", policy, *options) as d:
        jobs = []
        for i in range(count):
            argv = trainer(6 + i, persistent, ephemeral, 4)
            jobs.append(start(d, f"job{i}", argv, word(persistent, ephemeral, iterations=6 + i)))
        return [finish(p, d) for p in jobs]


def test_three_times_the_memory_by_waiting():
    done = oversubscribed("pack", persistent=6, ephemeral=8, count=6)
    waited = sorted(j["waited_seconds"] for j in done)
    print(f"    waited {' '.join(f'{w:.2f}' for w in waited)} s", flush=True)
    require(waited[-1] > 0, "nobody waited")


def test_three_times_the_memory_with_swap():
    done = oversubscribed("fair", "--swap", "yes", "--lease", "50ms",
                          persistent=12, ephemeral=2, count=6)
    swaps = sum(j["swaps"] for j in done)
    print(f"    {swaps} swaps, {sum(j['swapped_bytes'] for j in done) // MIB} MiB moved", flush=True)
    require(swaps > 0, "nobody was swapped")


def test_mapped_memory_is_swapped_and_comes_back():
    """Virtual memory management: mapped memory, and memory that has only a handle, moves with its job."""
    with Daemon("--device-memory", "64MiB", "--lane-policy", "fair", "--swap", "yes", "--lease", "20ms") as d:
        argv = [program("virtual"), "120"]
        started = [start(d, f"job{i}", argv, word(24, 2)) for i in range(4)]
        done = [finish(p, d) for p in started]
        swaps = sum(j["swaps"] for j in done)
        print(f"    {swaps} swaps, {sum(j['swapped_bytes'] for j in done) // MIB} MiB moved", flush=True)
        require(swaps > 0, "nobody was swapped")


def test_a_job_larger_than_the_device_is_refused_with_numbers():
    with Daemon("--device-memory", "64MiB") as d:
        done = d.run(trainer(2), SALUS_PERSISTENT="60MiB", SALUS_EPHEMERAL="8MiB", SALUS_LOG="warn")
        require(done.returncode != 0, "it ran")
        require("68 MiB" in done.stderr + d.log() or "60 MiB" in done.stderr + d.log(),
                f"no numbers: {done.stderr}\n{d.log()[-1000:]}")


def test_waiting_has_a_reason_a_place_and_an_end():
    with Daemon("--device-memory", "64MiB", "--lane-policy", "pack") as d:
        first = start(d, "first", trainer(100000, 16, 16), word(16, 16))
        wait_for("the first iterates", lambda: (job(d, "first") or {}).get("iterations", 0) > 3)
        second = start(d, "second", trainer(2, 40, 8), word(40, 8))
        wait_for("the second waits", lambda: (job(d, "second") or {}).get("position") == 1)
        third = start(d, "third", trainer(2, 40, 8), word(40, 8, admit_timeout="200ms"))
        require("memory" in job(d, "second")["why"], job(d, "second")["why"])
        third.communicate(timeout=PATIENCE)
        require(third.returncode != 0, "the third did not give up")
        first.kill()
        first.communicate()
        finish(second, d)


# ---- lifetimes, leases ------------------------------------------------------------------------------

def test_gradients_that_live_over_boundaries_survive_sharing():
    for times in ("60", "300"): # more iterations if one job began when the other was about to end
        argv = [program("accumulate"), times, "4", "each"]
        with Daemon("--device-memory", "64MiB", "--lane-policy", "fair") as d:
            env = word(12, 24)
            done = [finish(p, d) for p in [start(d, n, argv, env) for n in ("a", "b")]]
        if all(j["switches"] >= 5 for j in done):
            break
    for j in done:
        print(f"    {j['name']}: {j['iterations']} iterations, {j['survivors']} survivors,"
              f" {j['switches']} switches", flush=True)
        require(j["iterations"] >= 30, f"{j['name']}: {j['iterations']} iterations")
        require(j["survivors"] > 0, f"no gradient of {j['name']} lived over a boundary")
        require(j["switches"] >= 5, f"{j['name']} shared its lane only {j['switches']} times")


def test_a_holder_without_boundaries_does_not_starve_its_lane():
    stuck_argv, argv = trainer(8, 2, 8, 8, 6), trainer(8, 2, 8, 8)
    with Daemon("--device-memory", "22MiB", "--lane-policy", "fair", "--lease", "200ms") as d:
        env = dict(d.environment(), SALUS_JOB_NAME="stuck", **word(2, 8))
        stuck = subprocess.Popen(stuck_argv, env=env, text=True, stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        stuck.salus = ("stuck", stuck_argv)
        equal(stuck.stdout.readline(), "stuck\n", "what the stuck program says")
        finish(start(d, "other", argv, word(2, 8)), d)
        require(stuck.poll() is None, "the stuck program ended by itself")
        out, err = stuck.communicate("", timeout=PATIENCE)
        done = subprocess.CompletedProcess(stuck_argv, stuck.returncode, out, err)
        equal(checksum_of(done, d), solo(trainer(8, 2, 8, 8)), "checksum of the stuck program")
        j = wait_for("it is in the history", lambda: ended(d, "stuck"))
        print(f"    {j['switched_bytes'] // MIB} MiB spilled and brought back", flush=True)
        require(j["switched_bytes"] > 0, "nothing was spilled")


def test_an_unknown_job_is_measured_and_then_shares():
    argv = trainer(100000, 2, 8, 8)
    with Daemon("--device-memory", "64MiB", "--lane-policy", "fair", "--unknown-memory", "0") as d:
        a, b = start(d, "a", argv, {}), start(d, "b", argv, {})
        for n in ("a", "b"):
            wait_for(f"{n} iterates", lambda: (job(d, n) or {}).get("iterations", 0) > 8)
        j = job(d, "a")
        print(f"    measured: P {j['persistent_bytes'] // MIB} MiB, E {j['ephemeral_bytes'] // MIB} MiB",
              flush=True)
        equal(j["reservation"], "measured", "whence the reservation is known")
        require(j["persistent_bytes"] + j["ephemeral_bytes"] < 40 * MIB, "the reservation did not shrink")
        for p in (a, b):
            p.kill()
            p.communicate()


# ---- processes that wait for one another ---------------------------------------------------------------

def test_ranks_of_one_run_meet_at_a_barrier():
    """Twelve ranks, though there is memory for eight jobs of unknown needs: no job's needs are measured within the
    lease of an hour."""
    with Daemon("--device-memory", "512MiB", "--unknown-memory", "0", "--lease", "3600s") as d:
        alone = d.checksum([program("ranks"), "12"], SALUS_RUN="7")
        equal(d.checksum([program("ranks"), "12"], SALUS_RUN="8"), alone, "checksum")
        others = [start(d, f"other {i}", [program("ranks"), "2"], {"SALUS_RUN": str(20 + i)}) for i in range(3)]
        equal(d.checksum([program("ranks"), "12"], SALUS_RUN="9"), alone, "checksum beside others")
        for p in others:
            finish(p, d)
        equal({e["how"] for e in d.ctl_json("history")["history"]}, {"done"}, "how all ended")


def test_ranks_that_do_not_fit_together_are_refused():
    """A rank that does not fit is refused at once, with the reason: otherwise the running ranks would wait for it while
    they hold memory."""
    why = "does not fit beside other processes of its run"
    with Daemon("--device-memory", "256MiB") as d:
        run = dict(word(86, 10), SALUS_RUN="6")
        there = [start(d, n, trainer(100000, 2, 8, 1), run) for n in ("a", "b")]
        for n in ("a", "b"):
            wait_for(f"{n} iterates", lambda: (job(d, n) or {}).get("iterations", 0) > 3)
        for n in ("c", "d"):
            p = start(d, n, trainer(1, 2, 8, 1), run)
            _, err = p.communicate(timeout=PATIENCE)
            require(p.returncode and why in err, f"{n} exits with {p.returncode}\n{err}")
        wait_for("the others go on", lambda: sorted(j["name"] for j in d.jobs()) == ["a", "b"])
        for p in there:
            p.kill()
            p.communicate()
        wait_for("they are gone", lambda: not d.jobs())
        # All four start at once: the command ends the others when the first one has failed.
        done = d.run([program("ranks"), "4"], SALUS_RUN="7", SALUS_PERSISTENT="100MiB")
        require(done.returncode and why in done.stderr, f"four ranks of 100 MiB in 256 MiB\n{done.stderr}")


# ---- live changes --------------------------------------------------------------------------------------

def test_policies_change_live_without_losing_an_operation():
    argv = trainer(30, 2, 8, 8)
    with Daemon("--device-memory", "36MiB", "--lane-policy", "fifo") as d:
        jobs = [start(d, f"job{i}", argv, word(2, 8)) for i in range(3)]
        for policy in ("pack", "srtf", "fair", "fifo", "fair"):
            time.sleep(0.2)
            d.ctl("policy", "set", "--lane", policy)
            equal(d.ctl_json("policy", "show")["policy"]["lane"], policy, "the policy in effect")
        for p in jobs:
            finish(p, d)


def test_pause_and_resume():
    argv = trainer(40, 2, 8, 8)
    with Daemon("--device-memory", "64MiB", "--lane-policy", "fair") as d:
        while True:
            p = start(d, "paused", argv, word(2, 8))
            found = wait_for("it iterates", lambda: p.poll() is not None or (
                (j := job(d, "paused")) and j["iterations"] > 3 and j))
            if found is not True and d.ctl("job", "pause", number := str(found["id"]), check=False).returncode == 0:
                break
            finish(p, d) # the job had ended before it was told to pause
        wait_for("it stands", lambda: job(d, "paused")["turn"] == 0)
        before = job(d, "paused")["launches"], job(d, "paused")["iterations"]
        time.sleep(0.3)
        equal(job(d, "paused")["iterations"], before[1], "iterations while paused")
        equal(job(d, "paused")["state"], "paused", "state")
        d.ctl("job", "resume", number)
        finish(p, d)


if __name__ == "__main__":
    sys.exit(run_tests(globals()))
