# SPDX-License-Identifier: Apache-2.0
"""Common code of the end-to-end tests and the demo: a private daemon, and jobs that run under it. All paths are in a
build folder; nothing outside it and a temporary run directory is touched."""
import faulthandler
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

import nested

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
BUILD = os.path.join(ROOT, os.environ.get("BUILD", "build"))
# The daemons may come from another build, such as a sanitizer's, than the shim that jobs load.
DAEMON_BUILD = os.path.join(ROOT, os.environ.get("SALUS_DAEMON_BUILD", os.environ.get("BUILD", "build")))
# Generous: a test that needs all of it has failed anyway; sanitizers and busy machines are slow.
PATIENCE = float(os.environ.get("SALUS_TEST_PATIENCE", "600"))
TEST_LIMIT = float(os.environ.get("SALUS_TEST_LIMIT", "1500"))  # seconds for one test, over all its waits

# nohup, `&` in a shell and many CI systems start us with ignored signals. Every program that we start would inherit
# that, and a shell cannot even trap such signals.
for _inherited in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
    if signal.getsignal(_inherited) == signal.SIG_IGN:
        signal.signal(_inherited, signal.SIG_DFL)

# `salusctl run` stores state of its user, and the tests must not use that.
os.environ["XDG_STATE_HOME"] = "/nonexistent"
# malloc fills memory with this byte, not zeros by chance, so that a field that nobody has set shows.
os.environ.setdefault("MALLOC_PERTURB_", "165")

CHECKSUM = re.compile(r"^(\w+) checksum ([0-9a-f]{16})$", re.M)


def tool(name):
    daemon = name in ("salusd", "salus-gpu", "salusctl")
    return os.path.join(DAEMON_BUILD if daemon else BUILD, name)


def program(name, variant="default-static"):
    return os.path.join(BUILD, "e2e", variant, name)


def wait_for(what, condition, seconds=PATIENCE):
    """Polls until condition() is true; the error names the condition that never came true. The condition is checked
    once more at the end, because this process itself may have been stopped."""
    end, over = time.monotonic() + seconds, False
    while not over:
        over = time.monotonic() >= end
        value = condition()
        if value:
            return value
        time.sleep(0.005)
    raise AssertionError(f"{what}: not within {seconds:g} s")


class Job(subprocess.Popen):
    """A program under a daemon. communicate() does not wait without end for children of the program that outlive it and
    hold its output open."""

    def communicate(self, input=None, timeout=PATIENCE):
        return super().communicate(input, timeout)

    def kill_group(self):
        """Kills a job that has a process group of its own, with all its children."""
        os.killpg(self.pid, signal.SIGKILL)
        return self.communicate()


# With SALUS_TEST_NESTED, each daemon serves a fake "real GPU": its worker's driver is our own library, a client of a
# second daemon, which has the software GPU. The tests' options for the GPU go to that daemon.
NESTED = os.environ.get("SALUS_TEST_NESTED") == "1"
# True for a device of the real driver: nested, or on a GPU.
ON_DRIVER = NESTED or os.environ.get("SALUS_DEVICE") == "cuda"
BELOW = ("--sm-count", "--capability", "--device-threads", "--kernel-timeout")
ABOVE = ["--device", "cuda", "--window-base", "0x600000000000", "--window-alloc-bytes", "1GiB",
         "--window-module-bytes", "64MiB",
         "--completion", os.environ.get("SALUS_TEST_COMPLETION", "words")]  # no test at start-up
# Also splits every kernel that can be launched in parts into parts of as few blocks as possible
# (daemon/device/subgrid).
if os.environ.get("SALUS_TEST_SUBGRIDS") == "1":
    ABOVE += ["--subgrids", "yes", "--subgrid-waves", "0.1%"]

# Nested workers of one daemon below have different addresses; on a real GPU, each process has all. So a worker starts
# when the one before it has released its addresses.
ALONE = """#!/bin/sh
while {ctl} --run-dir {below} job list | grep -q worker; do sleep 0.01; done
exec {worker} "$@"
"""


class Daemon:
    """A private salusd with its worker, to be used as a context manager. By default, jobs that give no reservation are
    assumed to need little, so that they run side by side; the caller's options override that."""
    UNKNOWN = "64MiB"
    nests = NESTED

    def __init__(self, *options):
        self.run_dir = tempfile.mkdtemp(prefix="salus-e2e-")
        self.log_path = os.path.join(self.run_dir, "log")
        self.options = options
        self.below = None
        self.env = None
        if self.nests:
            self._put_below()

    def _put_below(self):
        given = list(zip(self.options[::2], self.options[1::2]))
        memory = dict(given).get("--device-memory", "6GiB")
        self.below = Below(*(word for pair in given if pair[0] in BELOW for word in pair))
        self.options = [word for pair in given if pair[0] not in BELOW for word in pair]
        if "--device-memory" not in self.options:
            self.options += ["--device-memory", memory]
        self.options += [*ABOVE, "--driver", os.path.join(BUILD, "shim", "libcuda.so.1")]
        if "--worker" not in self.options:
            self.options += ["--worker", self._alone()]
        self.env = {**os.environ, "SALUS_RUN_DIR": self.below.run_dir, "SALUS_JOB_NAME": "worker"}

    def _alone(self):
        path = os.path.join(self.run_dir, "salus-gpu-alone")
        with open(path, "w") as f:
            f.write(ALONE.format(ctl=tool("salusctl"), below=self.below.run_dir, worker=tool("salus-gpu")))
        os.chmod(path, 0o755)
        return path

    def __enter__(self):
        return self.boot()

    def boot(self):
        """Starts the daemon: at first, or again in the same run directory after it ended."""
        if self.below and not self.below.running():
            self.below.boot()
        self.log_file = open(self.log_path, "ab")
        self.process = subprocess.Popen(
            [tool("salusd"), "--foreground", "--run-dir", self.run_dir,
             "--unknown-memory", self.UNKNOWN, *self.options], env=self.env,
            stdout=self.log_file, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        try:
            wait_for("salusd is ready", self._ready)
        except BaseException:
            self.__exit__()
            raise
        return self

    def _ready(self):
        if self.process.poll() is not None:
            raise AssertionError("salusd ended at once:\n" + self.log())
        return self.ctl("status", check=False).returncode == 0

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.log_file.close()
        if self.below:
            self.below.__exit__()
        self._check_reports()
        shutil.rmtree(self.run_dir, ignore_errors=True)

    def running(self):
        return hasattr(self, "process") and self.process.poll() is None

    def _check_reports(self):
        """A sanitizer's report fails the test, whatever the exit status was."""
        log = self.log()
        report = re.search(r"(ERROR: \w+Sanitizer|WARNING: ThreadSanitizer|runtime error:)", log)
        if report:
            raise AssertionError("the daemon's sanitizer reports:\n" + log[report.start():][:6000])

    def log(self):
        with open(self.log_path, "r", errors="replace") as f:
            return f.read()

    def ctl(self, *args, check=True, env=None):
        r = subprocess.run([tool("salusctl"), "--run-dir", self.run_dir, "--timeout", str(PATIENCE), *args],
                           text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=2 * PATIENCE, env=env)
        if check and r.returncode:
            raise AssertionError(f"salusctl {' '.join(args)}: exit {r.returncode}: {r.stderr}")
        return r

    def ctl_json(self, *args):
        """Returns the JSON output; also that of `status`, whose exit status is 8 when the daemon would serve no job."""
        r = self.ctl("--json", *args, check=False)
        if r.returncode not in (0, 8):
            raise AssertionError(f"salusctl {' '.join(args)}: exit {r.returncode}: {r.stderr}")
        return json.loads(r.stdout)

    def jobs(self):
        return self.ctl_json("job", "list")["jobs"]

    def worker_pid(self):
        children = subprocess.run(["ps", "-o", "pid=,comm=", "--ppid", str(self.process.pid)],
                                  text=True, stdout=subprocess.PIPE).stdout
        for line in children.splitlines():
            pid, comm = line.split()
            if comm.startswith("salus-gpu"):
                return int(pid)
        return None

    def environment(self, loading="preload", **extra):
        """Returns the environment for a job. It finds the shim by `preload`, as salusctl run does, or by `path`
        (LD_LIBRARY_PATH)."""
        env = dict(os.environ, SALUS_RUN_DIR=self.run_dir, **extra)
        shim = os.path.join(BUILD, "counted" if "SALUS_COUNTED" in extra else "shim")
        env["LD_LIBRARY_PATH"] = ":".join(filter(None, [shim, os.environ.get("LD_LIBRARY_PATH"),
                                                        cuda_lib_dir()]))
        if loading == "preload":
            env["LD_PRELOAD"] = ":".join(filter(None, [os.environ.get("SALUS_TEST_PRELOAD"),
                                                       os.path.join(shim, "libcuda.so.1")]))
        return env

    def start(self, argv, loading="preload", own_group=False, **extra):
        """Starts a job; Job.communicate() collects its output."""
        return Job(argv, env=self.environment(loading, **extra), text=True, errors="replace",
                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                   process_group=0 if own_group else None)

    def run(self, argv, loading="preload", seconds=PATIENCE, **extra):
        p = self.start(argv, loading, **extra)
        try:
            out, err = p.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            p.send_signal(signal.SIGKILL)
            out, err = p.communicate()
            raise AssertionError(f"{argv[0]} hangs; output so far:\n{out}{err}\n{self.log()[-4000:]}")
        return subprocess.CompletedProcess(argv, p.returncode, out, err)

    def checksum(self, argv, loading="preload", **extra):
        return checksum_of(self.run(argv, loading, **extra), self)


class Soft(Daemon):
    """A daemon on the software GPU, in nested tests too."""
    nests = False


class Nested(Daemon):
    """A nested daemon, in other tests too."""
    nests = True


class Below(Soft):
    """The daemon below: its GPU is the one that a nested daemon's driver shows, and its only job is that daemon's
    worker."""
    UNKNOWN = "8GiB"

    def __init__(self, *options):
        super().__init__("--device-memory", "9GiB", "--window-alloc-bytes", "176GiB", *options)



def checksum_of(done, daemon=None):
    """Returns the checksum that a finished program printed; anything but success is an error."""
    found = CHECKSUM.search(done.stdout or "")
    if done.returncode or not found:
        log = daemon.log()[-4000:] if daemon else ""
        raise AssertionError(f"{done.args[0]}: exit {done.returncode}\n{done.stdout}{done.stderr}{log}")
    return found.group(2)


def launch_system_calls(daemon):
    """Returns the numbers of system calls that the `launches` program makes per 1,000 launches, one per round."""
    trace = os.path.join(daemon.run_dir, "trace")
    done = daemon.run(["strace", "-f", "-o", trace, program("launches")])
    if done.returncode:
        raise AssertionError(f"launches: exit {done.returncode}\n{done.stderr}")
    counts, inside = [], None
    with open(trace, errors="replace") as f:
        for line in f:
            if "begin launches" in line:
                inside = 0
            elif "end launches" in line:
                counts.append(inside)
                inside = None
            elif inside is not None:
                inside += 1
    return counts


def cuda_lib_dir():
    """Returns the folder of libcudart.so, for programs built with -cudart shared."""
    toolkit = subprocess.run([os.path.join(ROOT, "scripts", "find-nvcc"), "--home"], text=True,
                             stdout=subprocess.PIPE).stdout.strip()
    for sub in ("lib64", "targets/x86_64-linux/lib", "lib"):
        if os.path.exists(os.path.join(toolkit, sub, "libcudart.so")):
            return os.path.join(toolkit, sub)
    return ""


class Skipped(Exception):
    """Raised by a test that cannot run here; the test is counted as skipped."""


def run_tests(names):
    """Runs the functions named test_*, or those that the command line selects. Returns the exit status."""
    tests = [(n, f) for n, f in names.items() if n.startswith("test_") and callable(f)]
    wanted = [a for a in sys.argv[1:] if not a.startswith("-")]
    if wanted:
        tests = [(n, f) for n, f in tests if any(w in n for w in wanted)]
    if "--list" in sys.argv:
        print("\n".join(n for n, _ in tests))
        return 0
    failed, skipped = [], 0
    for name, f in tests:
        begin = time.monotonic()
        # If the test hangs, its stack is printed and the suite ends.
        faulthandler.dump_traceback_later(TEST_LIMIT, exit=True)
        try:
            why = nested.why_not(name, not NESTED) if ON_DRIVER else None
            if why:
                raise Skipped("on the driver: " + why)
            f()
            print(f"ok   {name} ({time.monotonic() - begin:.1f} s)", flush=True)
        except Skipped as why:
            skipped += 1
            print(f"SKIPPED {name}: {why}", flush=True)
        except Exception:
            failed.append(name)
            print(f"FAIL {name}\n{traceback.format_exc()}", flush=True)
        finally:
            faulthandler.cancel_dump_traceback_later()
    for name in failed:
        print(f"failed: {name}")
    suite = os.path.basename(sys.argv[0]).removeprefix("run_").removesuffix(".py")
    print(f"{suite}: {len(tests) - len(failed) - skipped} passed, {len(failed)} failed, {skipped} skipped")
    return 1 if failed or not tests else 0
