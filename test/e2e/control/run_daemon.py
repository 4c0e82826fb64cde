#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests salusd and salusctl as processes: options, signals, systemd's protocol, permissions, `run`.

    test/e2e/control/run_daemon.py [NAME-PART...]

Needs no CUDA compiler. A test is a function whose name begins with `test_`; it fails by raising.
"""
import json
import os
import pwd
import re
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from harness import BUILD, PATIENCE, ROOT, Daemon, run_tests, tool, wait_for


def equal(got, want, what):
    if got != want:
        raise AssertionError(f"{what}: {got!r}, expected {want!r}")


def contains(text, part, what):
    if part not in text:
        raise AssertionError(f"{what} lacks {part!r}:\n{text[-3000:]}")


def salusd(*args, env=None):
    return subprocess.run([tool("salusd"), *args], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=PATIENCE, env=dict(os.environ, **(env or {})))


def scratch(text):
    f = tempfile.NamedTemporaryFile("w", suffix=".conf", delete=False)
    f.write(text)
    f.close()
    return f.name


def alive(pid):
    """Returns False for a zombie too: its parent may reap it late."""
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def clean_environment():
    return {k: v for k, v in os.environ.items() if k not in ("SALUS_RUN_DIR", "LD_PRELOAD")}


# ---- options -------------------------------------------------------------------------------------

def test_check_config_lists_every_error():
    path = scratch("[broker]\nmax_jobs = many\nrundir = /x\n[gpu]\ndevice = harp\nnonsense\n")
    r = salusd("--config", path, "--check-config", "--worker-timeout", "1")
    os.unlink(path)
    equal(r.returncode, 2, "exit status")
    equal(r.stderr, f"{path}:2: max_jobs: 'many' is not a whole number\n"
                    f"{path}:3: unknown key 'rundir'; did you mean 'run_dir'?\n"
                    f"{path}:5: device: 'harp' is not one of: soft|cuda\n"
                    f"{path}:6: expected 'name = value'\n"
                    "command line: worker_timeout: '1' is not a time with its unit, such as 500ms\n"
                    "salusd: 5 errors in the configuration\n", "stderr")


def test_show_config_can_be_read_back():
    first = salusd("--show-config", "--max-jobs=7", "--kernel-timeout", "1500ms")
    equal(first.returncode, 0, "exit status")
    contains(first.stdout, "max_jobs = 7\n", "the configuration")
    contains(first.stdout, "kernel_timeout = 1500ms\n", "the configuration")
    path = scratch(first.stdout)
    equal(salusd("--config", path, "--show-config").stdout, first.stdout, "read back")
    os.unlink(path)


def test_wrong_arguments():
    for args, text in [(["--max-jobs"], "salusd: missing value of --max_jobs; see 'salusd --help'\n"),
                       (["now"], "salusd: unexpected argument now; see 'salusd --help'\n"),
                       (["--config", "/nonexistent"], "/nonexistent: No such file or directory\n"
                                                      "salusd: 1 error in the configuration\n")]:
        r = salusd(*args)
        equal((r.returncode, r.stderr), (2, text), str(args))


def test_a_full_standard_output_fails():
    for args in (["--help"], ["--version"], ["--show-config"]):
        with open("/dev/full", "w") as full:
            r = subprocess.run([tool("salusd"), *args], stdout=full, stderr=subprocess.PIPE, text=True, check=False,
                               timeout=PATIENCE)
        equal((r.returncode, r.stderr), (1, "salusd: standard output: No space left on device\n"), str(args))


def test_a_run_dir_that_cannot_be_made():
    r = salusd("--run-dir", "/nonexistent/salus")
    equal((r.returncode, r.stderr), (2, "command line: run_dir: /nonexistent/salus cannot be created: "
                                        "/nonexistent: No such file or directory\n"
                                        "salusd: 1 error in the configuration\n"), "refusal")


def test_a_missing_driver_is_named():
    r = salusd("--run-dir", os.path.join(tempfile.gettempdir(), f"salus-nodriver-{os.getpid()}"), "--device", "cuda",
               "--driver", "/nonexistent/libcuda.so.1", "--worker-tries", "1")
    equal(r.returncode, 1, r.stderr)
    contains(r.stderr, "salusd: no GPU worker is ready: the worker cannot open device cuda: no NVIDIA driver: "
                       "/nonexistent/libcuda.so.1: cannot open shared object file: No such file or "
                       "directory; install it, or choose the software GPU (device = soft)\n", "stderr")


def test_check_config_looks_at_the_machine():
    """Checks settings that are well formed, but with which no worker could start on this machine."""
    path = scratch(f"[broker]\nworker = {BUILD}\nprofiles = /nonexistent/profiles\n"
                   "[gpu]\ndevice_memory = 64TiB\n")
    r = salusd("--config", path, "--check-config", "--run-dir", path)
    os.unlink(path)
    equal(r.returncode, 2, "exit status")
    errors = r.stderr.splitlines()
    equal(errors[:3], [f"command line: run_dir: {path}: Not a directory",
                       f"{path}:2: worker: {BUILD}: Is a directory",
                       f"{path}:3: profiles: /nonexistent/profiles cannot be written: /nonexistent: No "
                       "such file or directory"], "stderr")
    contains(errors[3], f"{path}:5: device_memory: 64 TiB exceed ", "stderr")
    equal(errors[4:], ["salusd: 4 errors in the configuration"], "stderr")
    r = salusd("--check-config", "--device-memory", "1KiB")
    equal((r.returncode, r.stderr), (2, "command line: device_memory: must be at least 4MiB, or no job fits\n"
                                        "salusd: 1 error in the configuration\n"), "1 KiB")
    r = salusd("--check-config", "--worker", "/nonexistent/salus-gpu")
    equal((r.returncode, r.stderr), (2, "command line: worker: /nonexistent/salus-gpu: No such file or "
                                        "directory\nsalusd: 1 error in the configuration\n"), "no worker")


# ---- life ----------------------------------------------------------------------------------------

def test_one_daemon_a_directory():
    with Daemon() as d:
        r = salusd("--run-dir", d.run_dir)
        equal(r.returncode, 1, "exit status")
        equal(r.stderr, f"salusd: {d.run_dir}: another salusd with pid {d.process.pid} serves this "
                        "directory; see 'salusctl status'\n", "stderr")


def test_sigterm_is_an_orderly_end():
    with Daemon() as d:
        worker = wait_for("a worker", d.worker_pid)
        d.process.terminate()
        equal(d.process.wait(PATIENCE), 0, "exit status")
        equal([n for n in os.listdir(d.run_dir) if n.endswith(".sock")], [], "sockets left")
        equal(alive(worker), False, "the worker lives on")
        contains(d.log(), "event=stopped", "log")


def test_a_killed_daemon_leaves_a_directory_that_can_be_used_again():
    with Daemon() as d:
        worker = wait_for("a worker", d.worker_pid)
        d.process.kill()
        d.process.wait()
        wait_for("the worker ends as well", lambda: not alive(worker))
        d.__class__.__enter__(d)
        equal(d.ctl_json("status")["status"]["pid"], d.process.pid, "pid")


def test_sighup():
    path = scratch("[broker]\nmax_jobs = 5\n")
    try:
        with Daemon("--config", path) as d:
            def reload(text, event):
                with open(path, "w") as f:
                    f.write(text)
                seen = d.log().count(event)
                d.process.send_signal(signal.SIGHUP)
                wait_for(event, lambda: d.log().count(event) > seen)
                return d.ctl_json("status")["status"]["max_jobs"]

            equal(reload("[broker]\nmax_jobs = 9\n", "event=reloaded"), 9, "max_jobs")
            equal(reload("[broker]\nmax_jobs = x\n", "event=reload-failed"), 9, "max_jobs")
            contains(d.log(), f"what=\"{path}:2: max_jobs: 'x' is not a whole number\"", "log")
            equal(reload("[gpu]\nkernel_timeout = 1s\n", "event=needs-restart"), 64, "max_jobs")
            contains(d.log(), 'what="kernel_timeout: 0 stays in effect until salusd restarts; then 1s applies"', "log")
    finally:
        os.unlink(path)


def unit(name):
    """Returns the lines of a unit, grouped by key, with the paths of the build."""
    keys = {}
    with open(os.path.join(ROOT, "config", name)) as f:
        for line in f:
            key, equals, value = line.strip().partition("=")
            if equals and not key.startswith("#"):
                keys.setdefault(key, []).append(value)
    return keys


def test_a_reload_of_a_broken_file_fails():
    """Runs the unit's own commands one after the other, as systemd does: until one fails."""
    path = scratch("[broker]\nmax_jobs = 5\n")

    def reload(d, text):
        with open(path, "w") as f:
            f.write(text)
        for command in unit("salusd.service")["ExecReload"]:
            words = command.replace("@PREFIX@/sbin/salusd", tool("salusd") + " --config " + path)
            r = subprocess.run(words.replace("$MAINPID", str(d.process.pid)).split(), text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=PATIENCE)
            if r.returncode:
                return r
        return r

    try:
        with Daemon("--config", path) as d:
            r = reload(d, "[broker]\nmax_jobs = 7\n")
            equal(r.returncode, 0, "a good file")
            wait_for("reloaded", lambda: "event=reloaded" in d.log())
            r = reload(d, "[broker]\nmax_jobs = x\n")
            equal(r.returncode, 2, "a broken file")
            contains(r.stdout, f"{path}:2: max_jobs: 'x' is not a whole number", "what systemctl reload says")
            equal(d.ctl_json("status")["status"]["max_jobs"], 7, "max_jobs")
            equal(d.log().count("event=reload"), 1, "reloads that were tried")
    finally:
        os.unlink(path)


def test_people_restart_as_often_as_they_like():
    for name in "salusd.service", "salus-serve.service", "slurm/salus-placer.service":
        equal(unit(name).get("StartLimitIntervalSec"), ["0"], f"{name}: interval in which starts are counted")


def test_systemd_is_told():
    with tempfile.TemporaryDirectory() as dir:
        s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        s.bind(dir + "/notify")
        s.settimeout(PATIENCE)
        os.environ.update(NOTIFY_SOCKET=dir + "/notify", WATCHDOG_USEC="200000")
        try:
            with Daemon() as d:
                told = set()
                while len(told) < 2:  # the worker decides how often WATCHDOG=1 comes before READY=1
                    told.add(s.recv(64))
                equal(told, {b"READY=1\nSTATUS=jobs are served", b"WATCHDOG=1"}, "told at the start")
                d.process.terminate()
                while b"STOPPING=1" not in told:
                    told.add(s.recv(64))
        finally:
            del os.environ["NOTIFY_SOCKET"], os.environ["WATCHDOG_USEC"]


# ---- ready, and failed for good ------------------------------------------------------------------

def wrapper(dir, script):
    """Writes a worker that runs `script` and then executes the real one."""
    path = os.path.join(dir, "worker")
    with open(path, "w") as f:
        f.write(f"#!/bin/sh\ncd {dir}\n{script}\nexec {tool('salus-gpu')} \"$@\"\n")
    os.chmod(path, 0o755)
    return path


def state(d):
    return d.ctl_json("status")["status"]["state"]


def test_ready_means_that_a_job_would_be_served():
    """READY=1 comes when a job would be served, and not before; until then `status` exits with 8."""
    with tempfile.TemporaryDirectory() as dir:
        s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        s.bind(dir + "/notify")
        worker = wrapper(dir, "until [ -e go ]; do sleep 0.01; done")
        with open(dir + "/log", "wb") as log:
            p = subprocess.Popen([tool("salusd"), "--run-dir", dir + "/run", "--worker", worker], stderr=log,
                                 env=dict(os.environ, NOTIFY_SOCKET=dir + "/notify"))

        def ctl(*args):
            return subprocess.run([tool("salusctl"), "--run-dir", dir + "/run", *args], text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE)

        def told():
            found = []
            try:
                while True:
                    found.append(s.recv(512, socket.MSG_DONTWAIT))
            except BlockingIOError:
                return found
        try:
            r = wait_for("it listens", lambda: (r := ctl("status")).returncode != 3 and r)
            equal((r.returncode, r.stderr), (8, "salusctl: no GPU can serve a job now: the worker is starting\n"),
                  "status")
            p.send_signal(signal.SIGHUP)
            wait_for("it is reloaded", lambda: "event=reloaded" in open(dir + "/log").read())
            equal(ctl("status").returncode, 8, "status")  # the answer shows that the signal has been handled
            equal(told(), [], "told")
            open(dir + "/go", "w").close()
            s.settimeout(PATIENCE)
            equal(s.recv(512), b"READY=1\nSTATUS=jobs are served", "told")
            equal(ctl("status").returncode, 0, "status")
        finally:
            p.terminate()
            equal(p.wait(PATIENCE), 0, "exit status")


def test_a_worker_that_never_gets_ready_ends_the_daemon():
    with tempfile.TemporaryDirectory() as dir:
        r = salusd("--run-dir", dir + "/run", "--worker", "/bin/false", "--worker-tries", "2")
        equal(r.returncode, 1, "exit status")
        contains(r.stderr, "event=given-up gpu=0 failures=2", "log")
        equal(r.stderr.splitlines()[-1], "salusd: no GPU worker is ready: the worker exited with status 1", "stderr")


def test_a_worker_that_was_given_up_is_tried_again_when_told():
    with tempfile.TemporaryDirectory() as dir:
        with Daemon("--worker", wrapper(dir, "[ ! -e broken ] || exit 7"), "--worker-tries", "2") as d:
            started = 0

            def restarts():
                r = d.ctl("--json", "status", check=False)
                return json.loads(r.stdout)["status"]["worker_restarts"]

            for again in (lambda: d.process.send_signal(signal.SIGHUP), lambda: d.ctl("gpu", "retry", "0")):
                open(dir + "/broken", "w").close()
                os.kill(wait_for("a worker", d.worker_pid), signal.SIGKILL)
                wait_for("it is given up", lambda: state(d) == "failed")
                r = wait_for("its end is known", lambda: "status 7" in (r := d.ctl("status", check=False)).stderr
                             and r)
                equal((r.returncode, r.stderr),
                      (8, "salusctl: no GPU can serve a job now: the worker exited with status 7\n"), "status")
                os.unlink(dir + "/broken")
                equal(state(d), "failed", "by itself it does not come back")
                equal(restarts(), started + 2, "workers started, the two that failed included")
                again()
                wait_for("it is served", lambda: state(d) == "ok")
                started += 3
                equal(restarts(), started, "workers started")


def test_the_next_worker_shows_jobs_the_same_gpu():
    """The next worker gets as options the values that the first one chose by itself."""
    with tempfile.TemporaryDirectory() as dir:
        with Daemon("--worker", wrapper(dir, 'echo "$@" >>args')) as d:
            first = d.ctl_json("gpu", "list")["gpus"][0]["memory_bytes"]
            os.kill(wait_for("a worker", d.worker_pid), signal.SIGKILL)
            wait_for("the next", lambda: d.ctl_json("status")["status"]["worker_restarts"] == 1
                     and state(d) == "ok")
            with open(dir + "/args") as f:
                memory = re.findall(r"--device-memory (\d+)", f.read())
            equal(memory, ["0", str(first)], "what they are told")


def test_the_worker_goes_first_where_memory_is_short():
    with Daemon() as d:
        def score(pid):
            with open(f"/proc/{pid}/oom_score_adj") as f:
                return int(f.read())
        equal(score(wait_for("a worker", d.worker_pid)), min(score(d.process.pid) + 100, 1000), "its score")


def test_the_worker_comes_back_fast():
    with Daemon() as d:
        took = []
        for i in range(9):
            old = wait_for("a worker", d.worker_pid)
            wait_for("it is ready", lambda: d.ctl_json("status")["status"]["state"] == "ok")
            os.kill(old, signal.SIGKILL)
            begin = time.monotonic()
            wait_for("the next", lambda: (s := d.ctl_json("status")["status"])["state"] == "ok"
                     and s["worker_restarts"] == i + 1)
            took.append(time.monotonic() - begin)
        print(f"    worker back after {min(took) * 1e3:.0f} to {max(took) * 1e3:.0f} ms", flush=True)
        equal(set(re.findall(r"restart_in_ms=(\d+)", d.log())), {"20"}, "pauses")
        equal("event=restarts-often" in d.log(), False, "said to be too often")


def test_a_stopped_broker_does_not_blame_its_worker():
    for _ in range(5):  # repeated: the worker, which must report each second, may have been late itself
        with Daemon("--worker-timeout", "2s") as d:
            wait_for("it is ready", lambda: d.ctl_json("status")["status"]["state"] == "ok")
            worker = d.worker_pid()
            d.process.send_signal(signal.SIGSTOP)
            time.sleep(3)
            d.process.send_signal(signal.SIGCONT)
            time.sleep(1.5)
            blamed = d.ctl_json("status")["status"]["worker_restarts"], d.worker_pid()
        if blamed == (0, worker):
            return
    equal(blamed, (0, worker), "restarts, and the worker")


def test_running_out_of_descriptors_passes():
    with Daemon() as d:
        wait_for("it is ready", lambda: d.ctl_json("status")["status"]["state"] == "ok")
        resource.prlimit(d.process.pid, resource.RLIMIT_NOFILE, (40, 40))
        socks = []
        for _ in range(60):
            s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            s.connect(d.run_dir + "/job.sock")
            socks.append(s)
        wait_for("it says so", lambda: "no file descriptors left" in d.log())
        for s in socks:
            s.close()
        equal(d.ctl_json("status")["status"]["state"], "ok", "state")


# ---- salusctl ------------------------------------------------------------------------------------

def test_who_may_do_what():
    """Any user may connect as a job; only members of its group may use the control socket."""
    if os.geteuid() != 0:
        print("    skipped: needs root to become somebody else")
        return
    nobody = pwd.getpwnam("nobody")

    def connects(path):
        """Returns whether the user `nobody` may connect; tried in a child, which cannot become root again."""
        pid = os.fork()
        if pid == 0:
            os.setgroups([])
            os.setgid(nobody.pw_gid)
            os.setuid(nobody.pw_uid)
            try:
                socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET).connect(path)
            except PermissionError:
                os._exit(1)
            os._exit(0)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0

    with Daemon() as d:
        os.chmod(d.run_dir, 0o755)
        equal(connects(d.run_dir + "/job.sock"), True, "job.sock")
        equal(connects(d.run_dir + "/ctl.sock"), False, "ctl.sock")


def test_watch():
    with Daemon() as d:
        p = subprocess.Popen([tool("salusctl"), "--run-dir", d.run_dir, "-w", "0.05", "--json", "job",
                              "list"], text=True, stdout=subprocess.PIPE)
        lines = [json.loads(p.stdout.readline()) for _ in range(3)]
        equal(lines, [{"schema": 1, "jobs": []}] * 3, "an object a line")
        p.send_signal(signal.SIGINT)
        p.stdout.read()
        equal(p.wait(PATIENCE), 0, "exit status")


# ---- run -----------------------------------------------------------------------------------------

def private_run(*command, base=None, **kwargs):
    env = dict(clean_environment(), **({"XDG_RUNTIME_DIR": base} if base else {}))
    return subprocess.Popen([tool("salusctl"), "run", "--private", "--", *command], text=True,
                            env=env, stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, **kwargs)


def daemons_in(run_dir):
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                if run_dir.encode() in f.read().split(b"\0"):
                    found.append(int(pid))
        except OSError:
            pass
    return found


def test_private_daemon_lives_as_long_as_the_command():
    p = private_run("sh", "-c", "echo $SALUS_RUN_DIR; read line")
    out = p.stdout.readline().strip()
    # A worker that is starting has its parent's command line until exec().
    wait_for("one daemon", lambda: len(daemons_in(out)) == 1)
    equal(os.stat(out).st_mode & 0o777, 0o700, "mode of its directory")
    p.terminate()
    p.wait(PATIENCE) # waits before its standard input closes, which would end the command as well
    p.communicate()
    equal(p.returncode, -signal.SIGTERM, "exit status")
    equal(daemons_in(out), [], "daemons left")
    equal(os.path.exists(out), False, "its directory is left")


def test_private_daemon_ends_with_a_killed_salusctl():
    p = private_run("sh", "-c", "echo $SALUS_RUN_DIR; exec sleep 3")
    out = p.stdout.readline().strip()
    p.kill()
    p.wait()
    wait_for("the daemon ends", lambda: not daemons_in(out))
    equal(os.path.exists(out), False, "its directory is left")
    p.stdout.close()
    p.stderr.close()


def test_a_private_run_begins_when_a_job_would_be_served():
    p = private_run("env", "-u", "LD_PRELOAD", "sh", "-c",
                    f"{tool('salusctl')} --run-dir $SALUS_RUN_DIR status; ls $SALUS_RUN_DIR")
    out, err = p.communicate(timeout=PATIENCE)
    equal(p.returncode, 0, err)
    contains(out, "state:           ok\n", "status")
    equal(out.split()[-3:], ["ctl.sock", "job.sock", "salusd.lock"], "what is in its directory")


def test_what_was_killed_is_swept_up_by_the_next_run():
    """Only the directory of the killed run is removed: not that of another live run, nor any that is not ours."""
    with tempfile.TemporaryDirectory() as base:
        def run():
            p = private_run("sh", "-c", "echo $SALUS_RUN_DIR; exec sleep 300", base=base)
            return p, p.stdout.readline().strip()

        dead, dead_dir = run()
        live, live_dir = run()
        daemon = wait_for("its daemon", lambda: len(found := daemons_in(dead_dir)) == 1 and found)[0]
        os.mkdir(base + "/salus-aaaaaa", 0o700)                 # without the marker file
        os.mkdir(base + "/salus-bbbbbbb", 0o700)                # another name pattern
        open(base + "/salus-bbbbbbb/salusd.lock", "w").close()
        os.mkdir(base + "/salus-cccccc", 0o755)                 # open to other users
        open(base + "/salus-cccccc/salusd.lock", "w").close()
        os.symlink("salus-bbbbbbb", base + "/salus-dddddd")
        foreign = {"salus-aaaaaa", "salus-bbbbbbb", "salus-cccccc", "salus-dddddd"}
        # stopped, so that the daemon does not notice salusctl's end
        os.kill(daemon, signal.SIGSTOP)
        dead.kill()
        os.kill(daemon, signal.SIGKILL)
        dead.communicate()
        wait_for("nobody is left", lambda: not daemons_in(dead_dir))
        equal(set(os.listdir(base)), foreign | {os.path.basename(d) for d in (dead_dir, live_dir)}, "before")
        # The dead daemon's worker keeps the directory in use until it has ended too.
        wait_for("it is swept up", lambda: private_run("true", base=base).communicate() and
                 set(os.listdir(base)) == foreign | {os.path.basename(live_dir)})
        equal(os.path.exists(live_dir + "/job.sock"), True, "the other run is served")
        live.terminate()
        live.communicate()
        equal(set(os.listdir(base)), foreign, "at the end")


def test_interrupt_ends_the_command_and_not_its_daemon_first():
    script = "trap 'sleep 0.3; test -S $SALUS_RUN_DIR/job.sock && echo served; exit 5' INT; " \
             "echo up; while :; do sleep 0.05; done"
    p = private_run("sh", "-c", script, start_new_session=True)
    equal(p.stdout.readline(), "up\n", "output")
    os.killpg(p.pid, signal.SIGINT)
    try:
        out, _ = p.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        os.killpg(p.pid, signal.SIGKILL)
        raise
    equal((p.returncode, out), (5, "served\n"), "exit status and output")


def test_a_private_daemon_that_cannot_start():
    env = dict(clean_environment(), SALUS_MAX_JOBS="x")
    r = subprocess.run([tool("salusctl"), "run", "--private", "true"], text=True, env=env,
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE)
    equal(r.returncode, 1, "exit status")
    contains(r.stderr, "environment SALUS_MAX_JOBS: max_jobs: 'x' is not a whole number\n", "stderr")
    contains(r.stderr, "salusctl: the private salusd ended at start with status 2", "stderr")


# ---- the history ---------------------------------------------------------------------------------

LOOKER = """import ctypes, os, signal, sys
cuda = ctypes.CDLL('libcuda.so.1')
assert cuda.cuInit(0) == 0
print('initialized', flush=True)
if sys.stdin.readline() == 'leave\\n':
    sys.exit(0)
context = ctypes.c_void_p()
assert cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0) == 0
print('made a context', flush=True)
if sys.stdin.readline() == 'kill\\n':
    os.kill(os.getpid(), signal.SIGKILL)
sys.exit(3)
"""


def test_the_history_tells_command_exit_and_who():
    """Three runs of a script: one exits with a status, one is killed by a signal, one by salusctl. A command that only
    looks whether there is a GPU never becomes a job."""
    with tempfile.TemporaryDirectory() as dir, Daemon() as d:
        script = dir + "/looker.py"
        with open(script, "w") as f:
            f.write(LOOKER)

        def start():
            p = subprocess.Popen([tool("salusctl"), "run", "-q", "--", sys.executable, "-u", script], text=True,
                                 env=d.environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            equal(p.stdout.readline(), "initialized\n", "output")
            equal(d.jobs(), [], "jobs before a context is made")
            return p

        def go_on(p):
            p.stdin.write("\n")
            p.stdin.flush()
            equal(p.stdout.readline(), "made a context\n", "output")
            job, = d.jobs()
            equal(job["name"], "looker.py", "name")
            return job["id"]

        start().communicate("leave\n", timeout=PATIENCE)
        for last, code in (("exit\n", 3), ("kill\n", -signal.SIGKILL), (None, 3)):
            p = start()
            job = go_on(p)
            if last is None:
                d.ctl("job", "kill", str(job))
            p.communicate(last or "", timeout=PATIENCE)
            equal(p.returncode, code, "exit status")
            wait_for("the job has left", lambda: not d.jobs())
        ended = d.ctl_json("history")["history"]
        equal([(j["how"], j["exit"], j["by"]) for j in ended],
              [("done", "3", "itself"), ("done", "SIGKILL", "signal"), ("killed", "3", f"user {os.getuid()}")], "history")
        for j in ended:
            equal((j["name"], j["command"], j["uid"]), ("looker.py", f"{sys.executable} -u {script}", os.getuid()), "job")


# ---- profiles of kernels -------------------------------------------------------------------------

LAUNCHER = [sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "launcher.py"),
            os.path.join(BUILD, "shim", "libcuda.so.1")]


def launch(d, launches):
    r = d.run([*LAUNCHER, str(launches)])
    equal((r.returncode, r.stderr), (0, ""), "the job")


def profiles(d, *options):
    """Returns the profiles by name, without their places in the list, which after a restart are in the order of use."""
    return {p["name"]: {k: v for k, v in p.items() if k != "number"}
            for p in d.ctl_json("profile", "list", *options)["profiles"]}


def learned(d, launches):
    """Waits until both kernels have this many samples."""
    wait_for(f"{launches} samples", lambda: (p := profiles(d)).keys() >= {"mix", "copy"}
             and all(p[k]["count"] == launches for k in ("mix", "copy")))
    return profiles(d)


def import_text(d, text, *options):
    return subprocess.run([tool("salusctl"), "--run-dir", d.run_dir, "profile", "import", *options, "-"],
                          input=text, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=PATIENCE)


ORION = "Name,Profile,Memory_footprint,SM_usage,Duration\n"


def test_profiles_survive_the_worker_and_the_daemon():
    with Daemon() as d:
        launch(d, 4)
        first = learned(d, 4)
        equal((first["mix"]["class"], first["mix"]["source"]), ("compute", "counted"), "class")
        equal(first["mix"]["alone"], 1, "measured alone")
        os.kill(wait_for("a worker", d.worker_pid), signal.SIGKILL)
        wait_for("the next", lambda: d.ctl_json("status")["status"]["worker_restarts"] == 1
                 and d.ctl_json("status")["status"]["state"] == "ok")
        equal(profiles(d), first, "after the worker's end")
        wait_for("the worker's log", lambda: "event=profiles-loaded hints=0 profiles=2 restored=2" in d.log())
        launch(d, 3)
        second = learned(d, 7)
        d.process.terminate()
        equal(d.process.wait(PATIENCE), 0, "exit status")
        d.__class__.__enter__(d)
        wait_for("the file is read", lambda: profiles(d) == second)
        launch(d, 1)
        learned(d, 8)


def samples_written(path):
    """Returns, by name, the number of samples that the store's file has of a kernel."""
    if not os.path.exists(path):
        return {}
    with open(path) as f:
        kernels = [dict(w.split("=", 1) for w in line.split() if "=" in w) for line in f if line.startswith("kernel ")]
    return {k["name"]: sum(int(b.split(":")[1]) for b in k["bins"].split(",")) for k in kernels}


def test_a_killed_daemon_keeps_what_was_written():
    with Daemon() as d:
        launch(d, 2)
        before = learned(d, 2)
        # The store may also write the file in between.
        wait_for("all of it is in the file", lambda: samples_written(d.run_dir + "/kernels") == {"mix": 2, "copy": 2})
        d.process.kill()
        d.process.wait()
        d.__class__.__enter__(d)
        wait_for("the file is read", lambda: profiles(d) == before)


def test_a_corrupt_store_is_set_aside():
    with Daemon() as d:
        d.process.terminate()
        d.process.wait(PATIENCE)
        with open(d.run_dir + "/kernels", "w") as f:
            f.write("salus-kernels 1 1 0\ndevice sms=16 name=Salus software GPU\nkernel func=0")
        d.__class__.__enter__(d)
        wait_for("it is said", lambda: "event=corrupt" in d.log())
        contains(d.log(), 'why="line 3: the line has no end"', "log")
        equal(os.path.exists(d.run_dir + "/kernels.corrupt"), True, "it is kept")
        launch(d, 1)
        learned(d, 1)


def test_profiles_of_another_device():
    with Daemon("--sm-count", "8") as d:
        wait_for("it is ready", lambda: d.ctl_json("status")["status"]["state"] == "ok")
        text = ("salus-kernels 1 1 0\ndevice sms=108 name=NVIDIA A100\nkernel func=00000000000000ab "
                "grid=1,1,1 block=32,1,1 shared=0 uid=0 sms=1 class=memory source=counted compute=0 "
                "memory=900 lone=1 sum=600 bins=1:1 name=mix\n")
        r = import_text(d, text)
        equal((r.returncode, r.stderr), (1,
              "salusctl: the profiles were measured on 'NVIDIA A100' with 108 SMs, and this GPU is "
              "'Salus software GPU' with 8; use --any-device to import only its classes and SMs, without times\n"), "refusal")
        equal(profiles(d), {}, "profiles")
        r = import_text(d, text, "--any-device")
        equal((r.returncode, r.stderr), (0, ""), "with --any-device")
        hint = d.ctl_json("profile", "list", "--imported")["hints"][0]
        equal((hint["class"], hint["duration_seconds"]), ("memory", 0), "what was taken")


def test_an_import_that_is_wrong_is_refused_with_its_line():
    good = ("salus-kernels 1 0 1\ndevice sms=16 name=Salus software GPU\n"
            "hint grid=0,0,0 block=0,0,0 sms=4 class=memory compute=0 memory=0 ns=1 name=h\n")
    with Daemon() as d:
        wait_for("it is ready", lambda: d.ctl_json("status")["status"]["state"] == "ok")
        for text, why in [(good[:-10], "line 3: the line has no end"),
                          (good[:good.index("hint")], "line 3: the text ends before this line"),
                          (good.replace("memory=0", "memory=x"), "line 3: 'memory=' is not a number"),
                          (good + "more\n", "line 4: the text has more lines than its header announces"),
                          (ORION + "f,1,0,3,7000\ng,1,0,3\n", "line 3: "),
                          ("\x00\x01garbage\n", "no line is a known header")]:
            r = import_text(d, text)
            equal(r.returncode, 2, f"exit status of {text[-20:]!r}")
            contains(r.stderr, "salusctl: standard input: " + why, "stderr")
        equal(d.ctl_json("profile", "list", "--imported")["hints"], [], "hints")
        equal(import_text(d, good).returncode, 0, "the right one")


def test_an_imported_table_changes_the_class_of_a_running_jobs_kernel():
    with Daemon() as d:
        p = subprocess.Popen([*LAUNCHER, "3", "--stay"], env=d.environment(), text=True,
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        try:
            equal(p.stdout.readline(), "launched\n", "the job")
            equal(learned(d, 3)["mix"]["class"], "compute", "as it was counted")
            equal(import_text(d, ORION + "mix,0,0,2,9000\n").returncode, 0, "import")
            wait_for("another class", lambda: "class memory (imported)" in
                     d.ctl("profile", "show", "mix").stdout)
            equal(profiles(d)["copy"]["source"], "counted", "the other kernel")
            equal(d.ctl_json("profile", "forget", "mix")["known"]["moved_profiles"], 1, "forgotten")
            equal(sorted(profiles(d)), ["copy"], "what is left")
        finally:
            p.communicate()
        equal(p.returncode, 0, "the job's end")


# ---- endless kernels -----------------------------------------------------------------------------

def test_an_endless_kernel_has_a_name_an_age_and_those_who_wait():
    """An endless kernel shows its name and its age, and a job that waits behind it shows the reason."""
    def job(d, name):
        return next((j for j in d.ctl_json("job", "list")["jobs"] if j["name"] == name), None)

    need = {"SALUS_PERSISTENT": "24MiB", "SALUS_EPHEMERAL": "24MiB"}
    with Daemon("--device-memory", "128MiB", "--max-lanes", "1", "--lane-policy", "fair",
                "--overdue", "1s") as d:
        hog = subprocess.Popen([*LAUNCHER, "0", "--spin"], env=d.environment(SALUS_JOB_NAME="hog", **need),
                               text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        waiter = None
        try:
            equal(hog.stdout.readline(), "launched\n", "the job")
            wait_for("it is shown", lambda: job(d, "hog")["running"] == "kernel spin")
            first = job(d, "hog")
            if not 0 < first["running_seconds"] or first["launches"] != 1:
                raise AssertionError(first)
            wait_for("its time counts while it runs", lambda: job(d, "hog")["busy_seconds"] > 0.2)
            waiter = d.start([*LAUNCHER, "1"], SALUS_JOB_NAME="waiter", **need)
            begin = f"waits for its turn: job {first['id']}'s kernel spin has run for "
            wait_for("who waits is told why", lambda: (w := job(d, "waiter")) and w["why"].startswith(begin))
            wait_for("the log says so", lambda: "event=overdue" in d.log())
            line = next(l for l in d.log().splitlines() if "event=overdue" in l)
            for part in (f"job={first['id']} ", 'name="hog"', 'what="kernel spin"', "launch=1 "):
                contains(line, part, "the line")
            contains(d.ctl("top", "--batch", "-n", "1", "-w", "0.2").stdout, "kernel spin runs for ", "top")
            row = next(l for l in d.ctl("job", "list").stdout.splitlines() if " hog " in l)
            contains(row, "  kernel spin  ", "job list")
            d.ctl("job", "kill", str(first["id"]))
            equal(waiter.wait(PATIENCE), 0, "the job that waited")
        finally:
            hog.kill()
            hog.communicate()
            if waiter:
                waiter.kill()
                waiter.communicate()


# ---- frameworks ----------------------------------------------------------------------------------

# Compiles as Triton does: the program that Triton's variable names compiles, and the driver loads the result.
TRITON = """
import ctypes, os, subprocess, sys, tempfile
ptxas = os.environ["TRITON_PTXAS_PATH"]
if b"release " not in subprocess.check_output([ptxas, "--version"]):
    sys.exit("no release")
with tempfile.TemporaryDirectory() as d:
    with open(d + "/k.ptx", "w") as f:
        f.write(".version 8.0\\n.target sm_90a\\n.address_size 64\\n.visible .entry k() { ret; }\\n")
    subprocess.check_call([ptxas, "-lineinfo", "-v", "--gpu-name=sm_90a", d + "/k.ptx", "-o", d + "/k.cubin"])
    with open(d + "/k.cubin", "rb") as f:
        image = f.read()
cuda = ctypes.CDLL("libcuda.so.1")
device, context, module, function = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
calls = [cuda.cuInit(0), cuda.cuDeviceGet(ctypes.byref(device), 0),
         cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device), cuda.cuCtxSetCurrent(context),
         cuda.cuModuleLoadData(ctypes.byref(module), image),
         cuda.cuModuleGetFunction(ctypes.byref(function), module, b"k"),
         cuda.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, None, None, None), cuda.cuCtxSynchronize()]
print(calls, os.environ["XLA_FLAGS"])
"""


def test_what_triton_compiles_runs():
    env = dict(clean_environment(), XLA_FLAGS="--xla_dump_to=/x")
    r = subprocess.run([tool("salusctl"), "run", "-q", "--private", "--", sys.executable, "-c", TRITON], env=env,
                       text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE)
    toolkit = re.fullmatch(r"\[0(?:, 0){7}\] --xla_dump_to=/x --xla_gpu_cuda_data_dir=(\S+) "
                           r"--xla_gpu_autotune_level=1 --xla_gpu_override_gemm_autotuner=\S+\n", r.stdout)
    if not toolkit:
        raise AssertionError(f"exit {r.returncode}: {r.stdout}{r.stderr}")
    version = subprocess.run([toolkit.group(1) + "/bin/ptxas", "--version"], text=True, stdout=subprocess.PIPE)
    contains(version.stdout, "release ", "XLA's ptxas")


# A fake NVRTC that compiles for a device or a virtual one, and a program that links it.
NVRTC = """
#include <stddef.h>
#include <string.h>
int nvrtcGetPTXSize(void *program, size_t *bytes) { return *bytes = 4, 0; }
int nvrtcGetPTX(void *program, char *code) { return strcpy(code, "ptx"), 0; }
int nvrtcGetCUBINSize(void *program, size_t *bytes) { return *bytes = *(int *)program ? 6 : 0, 0; }
int nvrtcGetCUBIN(void *program, char *code) { return strcpy(code, "cubin"), 0; }
"""
ASKS_NVRTC = """
import ctypes
nvrtc, code = ctypes.CDLL(None), ctypes.create_string_buffer(8)
for machine_code in 1, 0:
    program, size = ctypes.c_int(machine_code), ctypes.c_size_t()
    r = nvrtc.nvrtcGetCUBINSize(ctypes.byref(program), ctypes.byref(size))
    print(r, size.value, nvrtc.nvrtcGetCUBIN(ctypes.byref(program), code), code.value.decode())
"""


def test_who_asks_nvrtc_for_machine_code_gets_ptx():
    with tempfile.TemporaryDirectory() as d:
        with open(d + "/nvrtc.c", "w") as f:
            f.write(NVRTC)
        subprocess.check_call(["cc", "-shared", "-fPIC", "-o", d + "/libnvrtc.so", d + "/nvrtc.c"])
        ask = [tool("salusctl"), "run", "-q", "--private"]
        env = dict(clean_environment(), LD_PRELOAD=d + "/libnvrtc.so")
        said = [subprocess.run([*ask, *how, "--", sys.executable, "-c", ASKS_NVRTC], env=env, text=True,
                               stdout=subprocess.PIPE, timeout=PATIENCE).stdout for how in ([], ["--no-frameworks"])]
    equal(said[0], "0 4 0 ptx\n0 0 0 cubin\n", "on the software GPU")
    equal(said[1], "0 6 0 cubin\n0 0 0 cubin\n", "as it is")


# A fake nvJitLink whose LTO-IR is the future PTX, and a program that links a kernel in it with a function in PTX.
NVJITLINK = """
#include <stdlib.h>
#include <string.h>
static char ptx[4096];
int nvJitLinkCreate(void **handle, unsigned count, const char **options) {
    return *handle = ptx, strcmp(options[count - 1], "-ptx") ? 1 : 0;
}
int nvJitLinkDestroy(void **handle) { return *handle = NULL, 0; }
int nvJitLinkAddData(void *h, int type, const void *data, size_t bytes, const char *name) {
    return type == 3 ? strcpy(ptx, data), 0 : 12;
}
int nvJitLinkComplete(void *h) { return *ptx ? 0 : 6; }
int nvJitLinkGetLinkedPtxSize(void *h, size_t *bytes) { return *bytes = strlen(ptx) + 1, 0; }
int nvJitLinkGetLinkedPtx(void *h, char *text) { return strcpy(text, ptx), 0; }
int nvJitLinkGetErrorLogSize(void *h, size_t *bytes) { return *bytes = 0, 0; }
int nvJitLinkGetErrorLog(void *h, char *text) { return 0; }
int nvJitLinkVersion(unsigned *major, unsigned *minor) { return *major = 13, *minor = 1, 0; }
"""
LINKS = '''
import ctypes
own, cuda = ctypes.CDLL(None), ctypes.CDLL("libcuda.so.1")
HEAD = b".version 8.0\\n.target sm_90\\n.address_size 64\\n"
DECLARED = b"(.param .b32 r) f(.param .b32 x)"
LTO = HEAD + b".extern .func " + DECLARED + b""";
.visible .entry k(.param .u64 out) {
    .reg .b32 %r; .reg .b64 %d; .param .b32 x; .param .b32 r;
    ld.param.u64 %d, [out]; st.param.b32 [x], 20; call (r), f, (x); ld.param.b32 %r, [r];
    st.global.u32 [%d], %r; ret; }"""
PTX = HEAD + b".visible .func " + DECLARED + b""" {
    .reg .b32 %a; ld.param.b32 %a, [x]; add.u32 %a, %a, 22; st.param.b32 [r], %a; ret; }"""
def done(r):
    assert r == 0, r
cuda.cuInit(0)
context, linker, module, k = (ctypes.c_void_p() for _ in range(4))
done(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
done(cuda.cuCtxSetCurrent(context))
options = (ctypes.c_char_p * 2)(b"-arch=sm_90", b"-lto")
done(own.nvJitLinkCreate(ctypes.byref(linker), 2, options))
done(own.nvJitLinkAddData(linker, 3, LTO + b"\\0", len(LTO) + 1, b"lto"))
done(own.nvJitLinkAddData(linker, 2, PTX, len(PTX), b"ptx"))
done(own["__nvJitLinkComplete_13_5"](linker))
size = ctypes.c_size_t()
done(own.nvJitLinkGetLinkedCubinSize(linker, ctypes.byref(size)))
cubin = ctypes.create_string_buffer(size.value)
done(own.nvJitLinkGetLinkedCubin(linker, cubin))
done(own.nvJitLinkDestroy(ctypes.byref(linker)))
done(cuda.cuModuleLoadData(ctypes.byref(module), cubin))
done(cuda.cuModuleGetFunction(ctypes.byref(k), module, b"k"))
out, said = ctypes.c_uint64(), ctypes.c_uint32()
done(cuda.cuMemAlloc_v2(ctypes.byref(out), 4))
args = (ctypes.c_void_p * 1)(ctypes.addressof(out))
done(cuda.cuLaunchKernel(k, 1, 1, 1, 1, 1, 1, 0, None, args, None))
done(cuda.cuMemcpyDtoH_v2(ctypes.byref(said), out, ctypes.c_size_t(4)))
print(said.value)
'''


def test_who_links_by_nvjitlink_gets_ptx():
    with tempfile.TemporaryDirectory() as d:
        with open(d + "/nvjitlink.c", "w") as f:
            f.write(NVJITLINK)
        subprocess.check_call(["cc", "-shared", "-fPIC", "-o", d + "/libnvJitLink.so.13", d + "/nvjitlink.c"])
        r = subprocess.run([tool("salusctl"), "run", "-q", "--private", "--", sys.executable, "-c", LINKS],
                           env=dict(clean_environment(), LD_LIBRARY_PATH=d), text=True, timeout=PATIENCE,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    equal(r.stdout + r.stderr, "42\n", "LTO-IR and PTX in one image")


# ---- doctor --------------------------------------------------------------------------------------

# A program that is refused code for a newer device and, twice, an unsupported call. It ignores the errors.
REFUSED = """
import ctypes
cuda = ctypes.CDLL("libcuda.so.1")
device, context, module = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p()
cuda.cuInit(0)
cuda.cuDeviceGet(ctypes.byref(device), 0)
cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)
cuda.cuCtxSetCurrent(context)
print(cuda.cuModuleLoadData(ctypes.byref(module), b".version 8.7\\n.target sm_120\\n.address_size 64\\n"))
cuda.cuImportExternalMemory(ctypes.byref(context), None)
cuda.cuImportExternalMemory(ctypes.byref(context), None)
"""


def doctor(*words, env=None):
    return subprocess.run([tool("salusctl"), *words], env=env or clean_environment(), text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE)


def test_doctor_says_what_a_program_was_refused():
    before = set(os.listdir(tempfile.gettempdir()))
    r = doctor("doctor", "--json", "--private", "--", sys.executable, "-c", REFUSED)
    refused = {x["kind"]: x for x in json.loads(r.stdout)["refused"] if x["kind"] != "symbol"}
    equal((r.returncode, sorted(refused)), (1, ["call", "module"]), f"exit status and kinds: {r.stderr}")
    contains(r.stderr, "209", "what the program printed")
    equal((refused["call"]["name"], refused["call"]["times"]), ("cuImportExternalMemory", 2), "call")
    contains(refused["call"]["library"], "ffi", "who called")
    contains(refused["module"]["do"], "salusctl run --capability 12.0", "what to do")
    left = {x for x in set(os.listdir(tempfile.gettempdir())) - before if x.startswith("salus-refusals")}
    equal(left, set(), "files left")
    r = doctor("doctor", "--private", sys.executable, "-c", REFUSED,
               env=dict(clean_environment(), SALUS_CAPABILITY="12.0"))
    equal((r.returncode, r.stdout.splitlines()[0]), (1, "0"), f"what was advised: {r.stderr}")
    if "capability" in r.stdout:
        raise AssertionError(f"the module is refused still: {r.stdout}")


def test_doctor_says_that_nothing_was_refused_and_that_nothing_was_done():
    r = doctor("doctor", "--private", "--", sys.executable, "-c",
               'import ctypes; ctypes.CDLL("libcuda.so.1").cuInit(0); raise SystemExit(3)')
    equal(r.returncode, 3, r.stderr)
    contains(r.stdout, "warning  program     the program ended with exit status 3", "report")
    contains(r.stdout, "ok       refused     Salus refused no kernel, module or call", "report")
    r = doctor("doctor", "--private", "--", "true")
    equal(r.returncode, 0, r.stderr)
    contains(r.stdout, "did not use the GPU", "report")


def test_doctor_finds_the_daemon_whole():
    with Daemon() as d:
        wait_for("ready", lambda: d.ctl_json("status")["status"]["state"] == "ok")
        r = doctor("--run-dir", d.run_dir, "doctor", "--json")
        levels = {(x["what"], x["level"]) for x in json.loads(r.stdout)["findings"]}
        equal(r.returncode, 0, r.stdout + r.stderr)
        for what in ("job socket", "version", "worker", "device", "library", "kernel"):
            if (what, "ok") not in levels:
                raise AssertionError(f"{what}: {r.stdout}")
        if os.geteuid() == 0:
            nobody = pwd.getpwnam("nobody")
            r = subprocess.run([tool("salusctl"), "--run-dir", d.run_dir, "doctor", "--plain"], text=True,
                               user=nobody.pw_uid, group=nobody.pw_gid, extra_groups=[], env=clean_environment(),
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            equal(r.returncode, 1, r.stderr)
            contains(r.stdout, "error\tjob socket\t", "of one who may not")


if __name__ == "__main__":
    sys.exit(run_tests(dict(globals())))
