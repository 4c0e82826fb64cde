#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests salusctl with real jobs: refused, waiting, paused, killed, remembered, recorded.

    test/e2e/control/run_ctl.py [--list] [NAME-PART...]

A test is a function whose name begins with `test_`; it fails by raising. Needs `make e2e-programs`.
"""
import contextlib
import json
import os
import pwd
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from harness import BUILD, CHECKSUM, PATIENCE, Daemon, program, run_tests, tool, wait_for

LONG = [program("train"), "100000"]
SHORT = [program("train"), "300"]


def equal(got, want, what):
    if got != want:
        raise AssertionError(f"{what}: {got!r}, expected {want!r}")


def contains(text, part, what):
    if part not in text:
        raise AssertionError(f"{what} lacks {part!r}:\n{text[-3000:]}")


def start(daemon, options, command):
    """Starts a job under `salusctl run`, as users do."""
    env = daemon.environment()
    del env["LD_PRELOAD"]
    return subprocess.Popen([tool("salusctl"), "--run-dir", daemon.run_dir, "run", "-q", *options, "--",
                             *command], env=env, text=True, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def finish(process):
    out, err = process.communicate(timeout=PATIENCE)
    return process.returncode, out, err


def end(daemon, *processes):
    """Kills jobs that would run for long, and waits until the worker has released them."""
    for p in processes:
        p.kill()  # ends salusctl, and so its command
    for p in processes:
        p.communicate(timeout=PATIENCE)
    wait_for("no jobs", lambda: not daemon.jobs())


def the_job(daemon, name, state="running"):
    return wait_for(f"{name} is {state}", lambda: next(
        (j for j in daemon.jobs() if j["name"] == name and j["state"] == state), None))


def waiting(daemon, name):
    return next((j for j in daemon.jobs() if j["name"] == name and j["state"] == "waiting"), None)


def history(daemon):
    return daemon.ctl_json("history")["history"]


# ---- admission -----------------------------------------------------------------------------------

def test_a_job_that_never_could_run_ends_with_6():
    with Daemon() as d:
        code, _, err = finish(start(d, ["--persistent", "1TiB"], SHORT))
        equal(code, 6, "exit status")
        found = re.search(r"^salusctl: the job was refused: 1 TiB of persistent \+ 0 B of ephemeral "
                          r"memory exceed the device's .*$", err, re.M)
        if not found:
            raise AssertionError(err)
        equal(history(d)[0]["how"], "refused", "history")
        code, out, err = finish(start(d, ["--persistent", "64MiB"], SHORT))
        equal(code, 0, err)


def test_a_job_that_waits_says_why_and_is_refused_in_time():
    with Daemon("--device-memory", "1GiB") as d:
        first = start(d, ["--persistent", "800MiB", "--name", "first"], LONG)
        the_job(d, "first")
        for limit in ("3s", "20s", "60s"):  # a longer limit if the test looked too late, after the refusal
            second = start(d, ["-v", "--persistent", "800MiB", "--name", "second", "--admit-timeout", limit],
                           SHORT)
            job = wait_for("it waits", lambda: (j := waiting(d, "second")) and j["why"] and j
                           or second.poll() is not None)
            code, _, err = finish(second)
            if job is not True and "waits for memory" in err:
                break
        equal((job["position"], job["lane"]), (1, None), "place and lane")
        contains(job["why"], "memory", "why")
        equal(code, 6, err)
        contains(err, "waits for memory", "stderr")
        contains(err, "place 1 in the queue", "stderr")
        contains(err, "salusctl: the job was refused: ", "stderr")
        end(d, first)


# A command that ignores the refusal, like a shell script whose program failed, and exits with 0.
CAREFREE = ["sh", "-c", '"$@"; exit 0', "sh", *SHORT]


def refused(process, words, what):
    code, _, err = finish(process)
    equal(code, 6, f"{what}: {err}")
    if not re.search(rf"^salusctl: the job was refused: {words}", err, re.M):
        raise AssertionError(f"{what}: {err}")


def test_every_refusal_of_salusd_ends_with_6():
    with Daemon("--max-jobs", "1") as d:
        d.ctl("user", "limit", str(os.getuid()), "max_weight=3", "max_priority=5", "user_device_memory=1GiB")
        for options, words in ((["--gpu", "9"], "salusd has no GPU 9"),
                               (["--weight", "4"], r"weight 4 is above max_weight = 3"),
                               (["--persistent", "2GiB"], "user_device_memory = 1GiB"),
                               (["--persistent", "1TiB"], "1 TiB of persistent"),
                               (["--slo", "1ms", "--priority", "7"], r"priority 7 is above max_priority = 5")):
            refused(start(d, options, CAREFREE), words, str(options))
            equal(history(d)[0]["how"], "refused", "history")
        first = start(d, ["--name", "first"], LONG)
        the_job(d, "first")
        refused(start(d, ["--admit-timeout", "1s"], CAREFREE), "the job waited longer than its admit_timeout", "max_jobs")
        equal(history(d)[0]["how"], "refused", "history")
        d.ctl("user", "limit", str(os.getuid()), "user_connections=1")
        refused(start(d, [], CAREFREE), r"user_connections = 1: user \S+ has 1 connections",
                "before it has said what it is")
        os.environ["CUDA_VISIBLE_DEVICES"] = "0"
        try:
            refused(start(d, [], CAREFREE), "Device or resource busy", "before it has asked for its GPU")
        finally:
            del os.environ["CUDA_VISIBLE_DEVICES"]
        end(d, first)


def test_a_job_that_no_worker_will_serve_ends_with_6():
    with tempfile.TemporaryDirectory() as dir:
        path = os.path.join(dir, "worker")
        with open(path, "w") as f:
            f.write(f"#!/bin/sh\n[ ! -e {dir}/broken ] || exit 7\nexec {tool('salus-gpu')} \"$@\"\n")
        os.chmod(path, 0o755)
        with Daemon("--worker", path, "--worker-tries", "2") as d:
            open(dir + "/broken", "w").close()
            os.kill(wait_for("a worker", d.worker_pid), signal.SIGKILL)
            wait_for("it is given up", lambda: "status 7" in d.ctl("status", check=False).stderr)
            refused(start(d, [], CAREFREE), "salusd gave up on the GPU worker: the worker ", "given up")
            equal(history(d)[0]["how"], "refused", "history")


def test_a_refusal_is_known_where_salusctl_may_not_ask():
    """salusctl relies on the library's message alone, also for a job that waited for admission."""
    with Daemon("--device-memory", "1GiB") as d:
        first = start(d, ["--persistent", "800MiB", "--name", "first"], LONG)
        the_job(d, "first")
        control = os.path.join(d.run_dir, "ctl.sock")
        os.rename(control, control + ".not")
        second = start(d, ["--persistent", "800MiB", "--admit-timeout", "1s"], CAREFREE)
        refused(second, "not admitted: ", "without the control socket")
        refused(start(d, ["--persistent", "1TiB"], CAREFREE), "1 TiB of persistent", "without the control socket")
        os.rename(control + ".not", control)
        end(d, first)


def test_every_refusal_of_the_library_ends_with_6():
    """Refusals that salusd never hears of, or that it did not mean as refusals."""
    with Daemon() as d:
        os.environ["SALUS_GPU"] = "2nd"
        try:
            refused(start(d, [], CAREFREE), "SALUS_GPU: '2nd' is not the number of a GPU", "misspelt")
        finally:
            del os.environ["SALUS_GPU"]
        for visible, words in (("7", "CUDA_VISIBLE_DEVICES='7' begins with a GPU that salusd does not have"),
                               ("MIG-1", "CUDA_VISIBLE_DEVICES='MIG-1' names a MIG instance")):
            refused(start(d, [], ["env", "CUDA_VISIBLE_DEVICES=" + visible, *CAREFREE]), words, visible)
        for visible in ("", "-1", "NoDevFiles"):  # the program wants no GPU
            code, _, err = finish(start(d, [], ["env", "CUDA_VISIBLE_DEVICES=" + visible, *CAREFREE]))
            equal(code, 0, f"CUDA_VISIBLE_DEVICES='{visible}': {err}")
        narrow = ["sh", "-c", 'ulimit -v 4000000; "$@"; exit 0', "sh", *SHORT]
        refused(start(d, [], narrow), "this process cannot reserve the addresses", "ulimit -v")
        shut = ["sh", "-c", f'mv {d.run_dir}/job.sock {d.run_dir}/shut; "$@"; mv {d.run_dir}/shut '
                f'{d.run_dir}/job.sock', "sh", *SHORT]
        refused(start(d, [], shut), "no salusd daemon is reachable", "a daemon that went")
        code, _, err = finish(start(d, [], ["sh", "-c", f"salusctl() {{ {tool('salusctl')} \"$@\"; }}; salusctl "
                                            f"run --persistent 1TiB {SHORT[0]}; [ $? = 6 ]"]))
        equal(code, 0, f"another run's refusal is that one's: {err}")


def test_a_salusd_of_another_version_ends_with_6():
    """Answers of a salusd with another major version, and of one whose answer is malformed."""
    offer = struct.pack("<IHHi", 0x554c4153, 2, 0, -1)
    for answer, words in ((offer, "the protocol versions differ"), (b"?", "a message or a ring record is malformed"),
                          (b"", "the salusd daemon ended")):
        with tempfile.TemporaryDirectory() as dir, socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
            s.bind(dir + "/job.sock")
            s.listen(8)
            env = dict(os.environ, SALUS_LIB_DIR=os.path.join(BUILD, "shim"))
            p = subprocess.Popen([tool("salusctl"), "--run-dir", dir, "run", "-q", "--no-frameworks", "--", *CAREFREE],
                                 env=env, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE)
            s.settimeout(PATIENCE)
            while p.poll() is None:
                s.settimeout(0.1)
                with contextlib.suppress(TimeoutError):
                    c, _ = s.accept()
                    with c:
                        if c.recv(4096) and answer:
                            c.send(answer)
            refused(p, words, f"answered with {answer[:8]}")


def test_a_job_that_waited_runs_when_there_is_room():
    with Daemon("--device-memory", "1GiB") as d:
        first = start(d, ["--persistent", "800MiB", "--name", "first"], LONG)
        the_job(d, "first")
        second = start(d, ["--persistent", "800MiB", "--name", "second"], SHORT)
        job = the_job(d, "second", "waiting")
        d.ctl("job", "kill", str(the_job(d, "first")["id"]))
        code, out, err = finish(second)
        equal((code, bool(CHECKSUM.search(out))), (0, True), err)
        ended = wait_for("it is in the history",
                         lambda: [e for e in history(d) if e["id"] == job["id"]])
        waited = ended[0]["waited_seconds"]
        if not 0 < waited < PATIENCE:
            raise AssertionError(f"waited {waited} s")
        end(d, first)


def test_needs_are_remembered():
    with Daemon("--unknown-memory", "512MiB") as d:
        equal(finish(start(d, ["--name", "one"], SHORT))[0], 0, "exit status")
        wait_for("it is in the history", lambda: history(d))
        measured = history(d)[0]
        if measured["iterations"] < 10 or measured["persistent_peak_bytes"] == 0:
            raise AssertionError(f"nothing was measured: {measured}")
        job = True
        while job is True:  # the job had ended before it was seen
            two = start(d, ["--name", "two"], SHORT)
            # The job is listed before it is admitted, but it is granted nothing until then.
            job = wait_for("the job", lambda: next((j for j in d.jobs() if j["persistent_bytes"]),
                                                   two.poll() is not None))
            equal(finish(two)[0], 0, "exit status")
        equal(job["persistent_bytes"] if job["reservation"] == "profile" else job, measured["persistent_peak_bytes"],
              "what it is granted")
        wait_for("the file", lambda: os.path.exists(d.run_dir + "/profiles"))


# ---- controlling jobs ----------------------------------------------------------------------------

def progress(daemon, job):
    def iterations():
        return daemon.ctl_json("job", "show", str(job["id"]))["job"]["iterations"]
    before = iterations()
    time.sleep(0.5)
    return iterations() - before


def test_pause_and_resume():
    with Daemon() as d:
        p = start(d, ["--name", "p"], LONG)
        job = the_job(d, "p")
        wait_for("it has iterations", lambda: progress(d, job) > 0)
        d.ctl("job", "pause", str(job["id"]))
        # the iteration that was running has ended
        wait_for("it stands", lambda: the_job(d, "p", "paused")["turn"] == 0)
        equal(progress(d, job), 0, "iterations while paused")
        equal(d.ctl_json("job", "show", str(job["id"]))["job"]["state"], "paused", "state")
        d.ctl("job", "resume", str(job["id"]))
        wait_for("it goes on", lambda: progress(d, job) > 0)
        end(d, p)


def test_a_killed_job_gets_an_error_and_its_memory_is_free():
    with Daemon() as d:
        p = start(d, ["--name", "victim"], LONG)
        job = the_job(d, "victim")
        d.ctl("job", "kill", str(job["id"]))
        code, _, err = finish(p)
        if code in (0, 6):
            raise AssertionError(f"exit {code}: {err}")
        wait_for("its memory is back", lambda: d.ctl_json("gpu", "list")["gpus"][0]["memory_used_bytes"] == 0)
        e = wait_for("it is in the history", lambda: history(d))[0]
        equal((e["id"], e["how"], e["why"]), (job["id"], "killed", f"by user {os.getuid()}"), "history")


def one_runs_and_one_waits(d):
    first = start(d, ["--persistent", "800MiB", "--name", "first"], LONG)
    the_job(d, "first")
    second = start(d, ["--persistent", "800MiB", "--name", "second"], CAREFREE)
    return first, second, wait_for("it waits", lambda: waiting(d, "second"))


def test_a_job_that_is_killed_while_it_waits_was_refused():
    with Daemon("--device-memory", "1GiB") as d:
        first, second, job = one_runs_and_one_waits(d)
        d.ctl("job", "kill", str(job["id"]))
        code, _, err = finish(second)
        equal(code, 6, err)
        contains(err, 'what="salusd ended this job" job=2 reason="an operator ended the job"', "stderr")
        contains(err, "salusctl: the job was refused: an operator ended the job\n", "stderr")
        end(d, first)


def test_jobs_are_told_that_salusd_was_stopped():
    """Stopping salusd refuses the waiting job, but not the running one."""
    with Daemon("--device-memory", "1GiB") as d:
        first, second, _ = one_runs_and_one_waits(d)
        d.process.send_signal(signal.SIGTERM)
        code, _, err = finish(second)
        equal(code, 6, err)
        contains(err, 'what="salusd ended this job" job=2 reason="salusd was stopped"', "stderr")
        contains(err, "salusctl: the job was refused: salusd was stopped\n", "stderr")
        code, _, err = finish(first)
        equal(code, 1, err)
        contains(err, 'what="salusd ended this job" job=1 reason="salusd was stopped"', "stderr")
        if "daemon ended" in err:
            raise AssertionError(err)


def test_a_wrong_variable_is_said_by_the_library():
    with Daemon() as d:
        r = d.run(SHORT, SALUS_WEIGHT="0", SALUS_SLO="5", SALUS_STRICT="x")
        equal(r.returncode, 0, r.stderr)
        for line in ('what="a setting has no effect: SALUS_WEIGHT: 0 is out of range: 1 to 1000" variables=2',
                     """what="a setting has no effect: SALUS_STRICT: 'x' is not 0 or 1\""""):
            equal(r.stderr.count(line), 1, f"{line} in {r.stderr}")


def test_wait_for_a_job():
    with Daemon() as d:
        p = start(d, ["--name", "w"], [program("train"), "1500"])
        job = the_job(d, "w")
        equal(d.ctl("job", "wait", str(job["id"])).returncode, 0, "exit status")
        equal(finish(p)[0], 0, "the job's")


def test_wait_for_a_job_that_is_refused():
    with Daemon("--device-memory", "1GiB") as d:
        first = start(d, ["--persistent", "800MiB", "--name", "first"], LONG)
        the_job(d, "first")
        second = start(d, ["--persistent", "800MiB", "--name", "second", "--admit-timeout", "3s"], SHORT)
        job = wait_for("it waits", lambda: waiting(d, "second"))
        r = d.ctl("job", "wait", str(job["id"]), check=False)
        equal(r.returncode, 6, "exit status")
        contains(r.stderr, f"job {job['id']} (second) was refused: ", "stderr")
        equal(finish(second)[0], 6, "the launcher's")
        end(d, first)


def test_every_policy_can_be_chosen_while_jobs_run():
    with Daemon() as d:
        jobs = [start(d, ["--group", "g", "--name", f"j{i}"], [program("train"), "1500"]) for i in range(2)]
        the_job(d, "j0")
        for kind, name in [(p["kind"], p["name"]) for p in d.ctl_json("policy", "list")["policies"]]:
            d.ctl("policy", "set", f"--{kind}", name, "lease=500ms")
            equal(d.ctl_json("policy", "show")["policy"][kind], name, kind)
        sums = {CHECKSUM.search(finish(p)[1]).group(2) for p in jobs}
        equal(len(sums), 1, "checksums")


def test_the_policy_outlives_the_worker_and_sighup_takes_what_changed():
    f = tempfile.NamedTemporaryFile("w", suffix=".conf")

    def write(text):
        f.seek(0)
        f.truncate()
        f.write(text)
        f.flush()

    write("[schedule]\nlane_policy = pack\n")
    with f, Daemon("--config", f.name) as d:
        worker = wait_for("a worker", d.worker_pid)
        equal(d.ctl_json("policy", "show")["policy"]["lane"], "pack", "configured")
        wait_for("ready", lambda: d.ctl_json("status")["status"]["state"] == "ok")
        d.ctl("policy", "set", "--lane", "srtf", "max_lanes=2")
        os.kill(worker, signal.SIGKILL)
        new = wait_for("the next worker", lambda: d.worker_pid() not in (None, worker) and d.worker_pid())
        with open(f"/proc/{new}/cmdline") as line:
            contains(line.read().replace("\0", " "), "--lane-policy srtf", "its command line")
        equal(d.ctl_json("policy", "show")["policy"]["max_lanes"], 2, "max_lanes")
        d.process.send_signal(signal.SIGHUP)
        wait_for("reloaded", lambda: d.log().count("event=reloaded") == 1)
        equal(d.ctl_json("policy", "show")["policy"]["lane"], "srtf", "the file did not change")
        wait_for("ready", lambda: d.ctl_json("status")["status"]["state"] == "ok")
        write("[schedule]\nlane_policy = fifo\n")
        d.process.send_signal(signal.SIGHUP)
        wait_for("it is told", lambda: "event=set lane=fifo" in d.log())
        equal(d.ctl_json("policy", "show")["policy"]["lane"], "fifo", "the file's")


def test_nobody_may_not():
    """Even if the socket is open to all, only root and the daemon's user may change settings."""
    if os.geteuid() != 0:
        print("    skipped: needs root to become somebody else")
        return
    nobody = pwd.getpwnam("nobody")
    with Daemon() as d:
        os.chmod(d.run_dir, 0o755)
        os.chmod(d.run_dir + "/ctl.sock", 0o666)
        wait_for("ready", lambda: d.ctl_json("status")["status"]["state"] == "ok")
        r = subprocess.run([tool("salusctl"), "--run-dir", d.run_dir, "policy", "set", "swap=yes"],
                           user=nobody.pw_uid, group=nobody.pw_gid, extra_groups=[], text=True,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        equal((r.returncode, r.stderr), (5, "salusctl: only root and the daemon's user may set the policy; see "
                                            "salusctl(1)\n"), "refusal")


# ---- showing jobs --------------------------------------------------------------------------------

def test_a_recording_is_a_workload_for_the_simulator():
    with Daemon() as d:
        path = d.run_dir + "/recorded"
        recorder = subprocess.Popen([tool("salusctl"), "--run-dir", d.run_dir, "record", "--until-idle", path],
                                    stderr=subprocess.PIPE, text=True)
        wait_for("it records", lambda: os.path.exists(path))
        hold = start(d, ["--name", "hold"], LONG)  # a job that runs all the time
        the_job(d, "hold")
        for p in [start(d, ["--name", n, "--weight", w], SHORT) for n, w in (("a", "1"), ("b", "2"))]:
            equal(finish(p)[0], 0, "exit status")
        end(d, hold)
        equal(recorder.wait(PATIENCE), 0, recorder.stderr.read())
        with open(path) as f:
            text = f.read()
        for name, rest in (("a", ""), ("b", " weight=2")):
            if not re.search(rf"^job name={name} arrival=\S+ persistent=\S+ ephemeral=\S+ iterations=\d\d+ "
                             rf"iteration=\S+( demand=0\.\d+)?( host=\S+)?( hint=\w+)?{rest}$", text, re.M):
                raise AssertionError(text)
        if os.path.exists(tool("salus-sim")):
            r = subprocess.run([tool("salus-sim"), "check", path], text=True, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT)
            equal(r.returncode, 0, r.stdout)
        recorder.stderr.close()


def demand_of(d, host_us):
    """Returns the daemon's figures for a job with 20 ms of device time and 180 ms of host time per iteration:
    thousandths of the device, over all time and over the time from an iteration's first operation on."""
    name = f"paced{host_us}".replace("-", "-before-")
    p = start(d, ["--name", name, "--device-mode=null"], ["env", "SALUS_MARK=1", program("paced"), "1", "12", "20000", str(host_us), "2", "2"])
    equal(finish(p)[0], 0, "exit status")

    def found():
        return [e for e in json.loads(d.ctl("--json", "history").stdout)["history"] if e["name"].startswith(name + " ")]

    had = wait_for("its end is known", found)
    return had[0]["demand_milli"], had[0]["iteration_milli"]


def test_the_demand_is_of_all_time():
    """Host time leaves the device idle, whether before an iteration's first operation or after its last one."""
    with Daemon() as d:
        before, behind = demand_of(d, -180000), demand_of(d, 180000)
        equal((before[0] < 200, behind[0] < 200), (True, True), f"a tenth, by {before} and {behind}")
        equal((before[1] > 400, behind[1] < 200), (True, True), f"without what is before the first operation, {before} and {behind}")


def test_a_recording_of_kernels_is_a_workload_of_them():
    """The workload has each job's own kernels, and the simulator takes about as long as the real run."""
    trainer = [program("trainer"), "40", "2", "4", "8"]
    with Daemon("--device-memory", "256MiB") as d:
        path = d.run_dir + "/recorded"
        recorder = subprocess.Popen([tool("salusctl"), "--run-dir", d.run_dir, "record", "--kernels", "--until-idle", path],
                                    stderr=subprocess.PIPE, text=True)
        wait_for("it records", lambda: os.path.exists(path))
        d.checksum(trainer, SALUS_JOB_NAME="a b=c", SALUS_MARK="1", SALUS_PERSISTENT="8MiB", SALUS_EPHEMERAL="8MiB")
        equal(recorder.wait(PATIENCE), 0, recorder.stderr.read())
        recorder.stderr.close()
        real = d.ctl_json("history")["history"][0]
        with open(path) as f:
            text = f.read()
        if not re.search(r"^kernels name=job1\n(h \S+\n)?k \S+ sms=\d+ class=\S+.*\n((w|h \S+)\n)*k .*\n((w|h \S+)\n)*k .*\n"
                         r"((w|h \S+)\n)*c .*\n(h \S+\n)?job name=a_b_c arrival=0 persistent=8MiB ephemeral=8MiB "
                         r"iterations=40 kernels=job1 start=\S+ finish=\S+ hint=none$", text, re.M):
            raise AssertionError(text)
        r = subprocess.run([tool("salus-sim"), "run", path, "--policy", "fair", "--json"], text=True, stdout=subprocess.PIPE)
        said, took = json.loads(r.stdout)["runs"][0]["makespan_s"], real["ended_seconds"] - real["since_seconds"]
        print(f"    simulated {said:.3f} s, really {took:.3f}")
        if not 0.8 < said / took < 1.25:
            raise AssertionError(f"simulated {said} s, really {took}\n{text}")


def recorded_server(d, number):
    """Returns the text of a recording of a server whose requests begin with a copy."""
    path = f"{d.run_dir}/served{number}"
    recorder = subprocess.Popen([tool("salusctl"), "--run-dir", d.run_dir, "record", "--kernels", "--until-idle", path],
                                stderr=subprocess.PIPE, text=True)
    wait_for("it records", lambda: os.path.exists(path))
    equal(finish(start(d, [], [program("served"), "80"]))[0], 0, "exit status")
    equal(recorder.wait(PATIENCE), 0, recorder.stderr.read())
    recorder.stderr.close()
    with open(path) as f:
        return f.read()


def test_a_recorded_request_begins_with_its_copy_and_ends_with_the_other():
    """The sleep is between requests: the recording has no host time before the copy in or after the copy out."""
    request = (r"^kernels name=job\d+\nc .*\n((w|h \S+)\n)*(k .*\n((w|h \S+)\n)*){6}c .*\n"
               r"job .* kernels=job\d+ think=\S+ hint=none$")
    with Daemon() as d:
        for i in range(5):  # repeated: on a busy machine, the server may get no processor for as long as its own pause
            text = recorded_server(d, i)
            if re.search(request, text, re.M):
                break
        else:
            raise AssertionError(text)


def test_top_shows_what_two_jobs_get():
    with Daemon("--device-memory", "1GiB", "--max-lanes", "1") as d:
        need = ["--persistent", "64MiB", "--ephemeral", "512MiB"]
        jobs = [start(d, [*need, "--name", n, "--weight", w], LONG) for n, w in (("one", "1"), ("three", "3"))]
        for name in ("one", "three"):
            wait_for("it iterates", lambda: the_job(d, name)["iterations"] > 3)
        for seconds in (3, 6, 12, 24, 48):  # on a busy machine turns are long, and jobs come late for them
            shown = json.loads(d.ctl("top", "--json", "-n", "1", "-w", str(seconds)).stdout)
            by_name = {j["name"]: j for j in shown["jobs"]}
            equal({n: j["entitled"] for n, j in by_name.items()}, {"one": 0.25, "three": 0.75}, "entitled")
            if abs(by_name["three"]["share"] - 0.75) <= 0.15:
                break
        else:
            raise AssertionError(f"share {by_name['three']['share']}, entitled to 0.75")
        print(f"    weights 1 and 3 got {by_name['one']['share']:.1%} and {by_name['three']['share']:.1%}")
        end(d, *jobs)


if __name__ == "__main__":
    sys.exit(run_tests(dict(globals())))
