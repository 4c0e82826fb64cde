#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""End-to-end tests: unmodified nvcc programs through the real broker, worker, shim and software GPU.

    test/e2e/results/run_e2e.py [--list] [NAME-PART...]

A test is a function whose name begins with `test_`; it fails by raising. Needs `make e2e-programs`.
"""
import contextlib
import glob
import importlib.machinery
import io
import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import nested
import run_events
from harness import (BUILD, CHECKSUM, ON_DRIVER, PATIENCE, ROOT, Daemon, checksum_of, launch_system_calls,
                     program, run_tests, tool, wait_for)

PROGRAMS = ["vecadd", "matmul", "reduce", "norm", "histogram", "pipeline", "train", "tensor", "staged", "textures",
            "thrust", "cub", "cluster", "tiles", "graphs", "graph_memory", "accumulate", "evaluate", "pair", "requests",
            "aimless", "verify", "virtual", "ipc", "texture_refs"]
if ON_DRIVER:
    PROGRAMS = [name for name in PROGRAMS if name not in nested.PROGRAMS]
EACH = int(os.environ.get("SALUS_E2E_EACH", "2"))  # processes of each program at a time, when all run together
TOPICS = ["printf", "symbols", "memory", "bigcopy", "pinned", "managed", "pools", "callbacks",
          "streams", "cooperative", "params", "attributes", "errors", "threads", "fork", "heap", "boxes", "reset"]
GRAPH_TOPICS = ["capture", "info", "forkjoin", "invalid", "modes", "tograph", "explicit", "events", "update",
                "clone", "child", "random", "large", "copies", "objects", "threads", "order", "memory"]
VALUE_TOPICS = ["processes", "ping_pong", "host", "comparisons", "batches", "graphs"]
HONEST = [("matmul", 8), ("histogram", 8), ("train", 150)]
STEADY = [("accumulate", 200), ("train", 1000)]  # programs that keep their memory from iteration to iteration
OFTEN = ["--savepoint-every", "20ms"]

solo_cache = {}


def equal(got, want, what):
    if got != want:
        raise AssertionError(f"{what}: {got!r}, expected {want!r}")


def contains(text, part, what):
    if part not in text:
        raise AssertionError(f"{what} lacks {part!r}:\n{text[-4000:]}")


def logged(daemon, part, what, more=""):
    """Waits for a line in the log: the daemons write it after the work, perhaps after the program has ended."""
    try:
        wait_for(what, lambda: part in daemon.log() + more)
    except AssertionError:
        contains(daemon.log() + more, part, what)


def solo(name, rounds=None):
    """Returns the checksum of a program that has a daemon of its own."""
    key = (name, rounds)
    if key not in solo_cache:
        with Daemon() as d:
            solo_cache[key] = d.checksum([program(name)] + ([str(rounds)] if rounds else []))
    return solo_cache[key]


def start_honest(daemon, **environment):
    return [(n, r, daemon.start([program(n), str(r)], **environment)) for n, r in HONEST]


def start_bystanders(daemon):
    """Starts correct programs beside one that ends the context. On the real driver's device, they go back to
    savepoints."""
    if not ON_DRIVER:
        return start_honest(daemon)
    started = [(n, r, daemon.start([program(n), str(r)], SALUS_SAVEPOINTS="yes")) for n, r in STEADY]
    for name, _, p in started:
        wait_for(f"{name} has a savepoint", lambda: p.poll() is not None or saved(daemon, p.pid))
    return started


def saved(daemon, pid):
    return any(j["pid"] == pid and j["launches"] > 200 and not j["savepoint_why"] for j in daemon.jobs())


def check_honest(started, daemon):
    for name, rounds, p in started:
        out, err = p.communicate(timeout=PATIENCE)
        done = subprocess.CompletedProcess([name], p.returncode, out, err)
        equal(checksum_of(done, daemon), solo(name, rounds), f"checksum of {name} beside an offender")


# ---- whole programs ----------------------------------------------------------------------------

def test_programs_alone():
    for name in PROGRAMS:
        equal(solo(name), solo_again(name), f"{name}, run alone twice")


def solo_again(name):
    with Daemon() as d:
        return d.checksum([program(name)])


def test_programs_together():
    """Every program at the same time, EACH processes of each: bit for bit the results of a run alone."""
    with Daemon() as d:
        started = [(n, d.start([program(n)])) for n in PROGRAMS * EACH]
        for name, p in started:
            out, err = p.communicate(timeout=PATIENCE)
            done = subprocess.CompletedProcess([name], p.returncode, out, err)
            equal(checksum_of(done, d), solo(name), f"checksum of {name}, shared")
        wait_for("all jobs have left", lambda: not d.jobs())


def test_jobs_that_end_amid_textures_leave_nothing():
    """Killed at one place after another, with arrays, textures and copies of them in flight."""
    with Daemon() as d:
        for launches in range(0, 24, 2):
            p = d.start([program("textures")])
            wait_for("it is under way or through", lambda: p.poll() is not None or
                     any(j["launches"] >= launches for j in d.jobs()))
            p.kill()
            p.wait()
        wait_for("all jobs have left", lambda: not d.jobs())
        gpu = d.ctl_json("gpu", "list")["gpus"][0]
        equal((gpu["memory_used_bytes"], gpu["granted_bytes"], gpu["worker_restarts"]), (0, 0, 0), "what is left")
        equal(d.checksum([program("textures")]), solo("textures"), "checksum of textures after that")


def test_jobs_are_listed_while_they_run():
    with Daemon() as d:
        p = d.start([program("train"), "2000"], SALUS_JOB_NAME="spirals")
        job = wait_for("the job is listed", lambda: [j for j in d.jobs() if j["launches"] > 0])[0]
        equal(job["name"], "spirals", "name")
        equal(job["pid"], p.pid, "pid")
        table = d.ctl("job", "list").stdout
        contains(table, "spirals", "the table of jobs")
        contains(d.ctl("job", "show", str(job["id"])).stdout, "spirals", "job show")
        p.kill()
        p.wait()


def feature(topic):
    def run():
        with Daemon() as d:
            done = d.run([program("features"), topic])
            if done.returncode:
                raise AssertionError(f"exit {done.returncode}: {done.stdout}{done.stderr}{d.log()[-3000:]}")
            contains(done.stdout, f"ok {topic}", "output")
            if topic == "printf":
                contains(done.stdout, "thread 2 of 3: text  3.00 x 20000000000", "output of printf")
    run.__name__ = f"test_feature_{topic}"
    return run


for _topic in TOPICS:
    globals()[f"test_feature_{_topic}"] = feature(_topic)


def test_all_features_in_one_process():
    with Daemon() as d:
        done = d.run([program("features")])
        equal([l for l in done.stdout.splitlines() if l.startswith("ok ")], [f"ok {t}" for t in TOPICS],
              "topics; stderr: " + done.stderr[-2000:])


def test_graphs_and_capture():
    with Daemon() as d:
        done = d.run([program("graph_features")])
        equal([l for l in done.stdout.splitlines() if l.startswith("ok ")], [f"ok {t}" for t in GRAPH_TOPICS],
              "topics; stderr: " + done.stderr[-2000:])


def test_streams_wait_for_values():
    with Daemon() as d:
        done = d.run([program("values")])
        equal((done.returncode, [l for l in done.stdout.splitlines() if l.startswith("ok ")]),
              (0, [f"ok {t}" for t in VALUE_TOPICS]), "topics; stderr: " + done.stderr[-2000:])


def test_managed_variables():
    with Daemon() as d:
        d.checksum([program("managed")])


def test_what_is_mapped_but_not_accessible_is_not_touched():
    with Daemon() as d:
        done = d.run([program("virtual"), "touch"])
        equal(done.returncode, 0, "exit status of virtual touch: " + done.stderr)
        logged(d, "ERR_ILLEGAL_ADDRESS", "the fault")


def test_what_a_killed_process_lent_stays_with_who_has_it():
    with Daemon() as d:
        done = d.run([program("ipc"), "orphan"])
        equal((done.returncode, done.stdout), (0, "orphan: what was lent stayed\n"), done.stderr)
        wait_for("all jobs have left", lambda: not d.jobs())


def gpu_of(daemon):
    return daemon.ctl_json("gpu", "list")["gpus"][0]


def test_descriptors_keep_what_a_killed_process_made():
    """The descriptor keeps the memory, even if no other process has opened it yet, for exactly as long as it is
    open."""
    with Daemon() as d:
        d.checksum([program("heirs"), "6"])
        wait_for("all jobs have left", lambda: not d.jobs())
        equal(gpu_of(d)["kept_bytes"], 0, "kept after the last descriptor was closed")
        holders = [d.start([program("heirs"), "hold"], own_group=True) for _ in range(2)]
        for p in holders:
            equal(p.stdout.readline(), "held\n", "what the holder says")
        wait_for("all jobs have left", lambda: not d.jobs())
        wait_for("what both keep is shown", lambda: gpu_of(d)["kept_bytes"] == 2 * 14 << 20)
        for p in holders:
            p.kill()
            p.communicate()
        wait_for("nothing is kept", lambda: gpu_of(d)["kept_bytes"] == 0)
        gpu = gpu_of(d)
        equal((gpu["memory_used_bytes"], gpu["granted_bytes"], gpu["worker_restarts"]), (0, 0, 0), "what is left")


def test_what_is_free_can_be_had():
    """Another job has most of the device. The free memory can be allocated with a reservation and without, by each kind
    of allocation."""
    with Daemon("--device-memory", "256MiB") as d:
        holder = subprocess.Popen([program("headroom"), "hold", "152"], text=True, stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, env=d.environment(SALUS_PERSISTENT="160MiB", SALUS_EPHEMERAL="0"))
        equal(holder.stdout.readline(), "held\n", "what it says")
        for reserved in {"SALUS_PERSISTENT": "16MiB", "SALUS_EPHEMERAL": "0"}, {}:
            done = d.run([program("headroom"), "take"], **reserved)
            equal(done.returncode, 0, f"exit code {reserved}: {done.stdout}{done.stderr}")
            equal(done.stdout, 3 * "free 96 of 256 MiB\n", f"what it is told {reserved}")
        holder.communicate("")


def test_tables_are_bounded_by_memory():
    """Thousands of streams and modules; more events, arrays and textures than there once were numbers; more contexts,
    pools and links than there once were places. When addresses run out, an error tells it."""
    with Daemon() as d:
        d.checksum([program("many")])
    with Daemon("--window-alloc-bytes", "128MiB", "--device-memory", "64MiB") as d:
        done = d.run([program("many"), "10", "10", "10", "100"])
        contains(done.stdout + done.stderr, "error 2", "what it says")
        contains(done.stderr, "raise window_alloc_bytes", "its standard error")


def kept_until(d, how, want):
    """The program's further descriptors are refused with these words. Another job runs meanwhile, and in the end all
    memory is back."""
    job = subprocess.Popen([program("heirs"), how], env=d.environment(), text=True, stdin=subprocess.PIPE,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    equal(job.stdout.readline(), want, "what it says")
    d.checksum([program("vecadd")])
    _, err = job.communicate("", timeout=PATIENCE)
    contains(err, "a descriptor of device memory was refused", "its standard error")
    wait_for("nothing is kept", lambda: gpu_of(d)["kept_bytes"] == 0)


def test_descriptors_of_memory_keep_no_more_than_the_device_has():
    with Daemon("--device-memory", "256MiB") as d:
        for _ in range(2):
            kept_until(d, "greedy", "refused with 2 after 256 MiB\n")
        wait_for("all jobs have left", lambda: not d.jobs())


def test_descriptors_of_memory_leave_some_for_others():
    """A worker has as many descriptors as the broker; half of them are for memory, and one user gets half of those."""
    with Daemon() as d:
        worker = d.worker_pid()
        resource.prlimit(d.process.pid, resource.RLIMIT_NOFILE, (300, 300))
        os.kill(worker, signal.SIGKILL)
        wait_for("another worker", lambda: d.worker_pid() not in (0, None, worker))
        for _ in range(2):
            kept_until(d, "many", "refused with 304 after 75\n")


def marks_seen(daemon, loading, **env):
    """Runs `marks`. Returns (iterations that it marked, iterations that it called, marks that the library saw)."""
    done = daemon.run([program("marks")], loading, SALUS_LOG="shim:debug", **env)
    equal(done.returncode, 0, f"exit code: {done.stdout}{done.stderr}{daemon.log()[-2000:]}")
    called = done.stdout.count("called")
    return int(re.search(r"marked (\d+)", done.stdout).group(1)), called, done.stderr.count("mark=iteration")


def test_marks():
    """NVTX's own header finds the library, however the program found it; the C call works as well."""
    shim = os.path.join(BUILD, "shim", "libcuda.so.1")
    with Daemon() as d:
        marked, called, seen = marks_seen(d, "preload", NVTX_INJECTION64_PATH=shim)
        equal((called, seen), (5, marked + 5), "calls, and marks seen")
        marked, called, seen = marks_seen(d, "path", NVTX_INJECTION64_PATH=shim)
        equal((called, seen), (0, marked), "without a preload the call is not there")
        _, called, seen = marks_seen(d, "preload")
        equal(seen, called, "marks seen without NVTX")
        _, called, seen = marks_seen(d, "preload", NVTX_INJECTION64_PATH=shim,
                                     SALUS_ITERATION_RANGE="forward")
        equal(seen, called + 9 * 5, "marks seen of another name")


def test_separate_compilation():
    with Daemon() as d:
        d.checksum([program("rdc", "linked")])


def test_blocks_wait_for_each_other():
    """Grid barriers use the device's own code, even where the PTX of cudadevrt could run."""
    with Daemon() as d:
        for capability in ("9.0", "12.1"):
            d.checksum([program("grids", "linked")], SALUS_CAPABILITY=capability)


def test_memory_that_kernels_allocate():
    """Kernels keep, free and exhaust their heap; then 500 rounds in two jobs at once."""
    with Daemon() as d:
        alone = d.checksum([program("device_heap")])
        jobs = [d.start([program("device_heap"), "500"]) for _ in range(2)]
        for job in jobs:
            out, err = job.communicate(timeout=PATIENCE)
            equal((job.returncode, CHECKSUM.search(out).group(2)), (0, alone), err)
        for how, error in (("twice", "IllegalAddress"), ("strange", "IllegalAddress"),
                           ("trap", "LaunchFailure"), ("assert", "Assert")):
            done = d.run([program("device_heap"), how])
            equal((done.returncode, done.stdout), (0, f"cudaError{error}\n"), done.stderr)


def test_kernels_print_as_the_host_does():
    with Daemon() as d:
        lines = d.run([program("device_heap"), "print"]).stdout.splitlines()
        equal(lines[:len(lines) // 2], lines[len(lines) // 2:], "lines of the device and of the host")
        equal(len(lines), 20, "lines")


def printed(name, rounds):
    """Returns the output of the program `printing`."""
    lines = []
    for r in range(rounds):
        lines += [f"{name} {r} {i}" for i in range(3)] + ([f"{name} {r} host"] if r % 4 == 3 else [])
    return lines


def test_jobs_that_print_at_once_get_their_own_lines():
    """Each job gets all of its lines, in order, and before those that the host prints after it has waited for the
    kernels."""
    rounds = 500
    with Daemon() as d:
        started = [(n, d.start([program("printing"), n, str(rounds)])) for n in "abc"]
        for name, p in started:
            out, err = p.communicate(timeout=PATIENCE)
            equal((p.returncode, out.splitlines()), (0, printed(name, rounds)), f"{name}: exit code and lines; {err}")


def test_kernels_decide_about_graphs():
    with Daemon() as d:
        for capability in ("9.0", "12.1"):
            d.checksum([program("conditions", "linked")], SALUS_CAPABILITY=capability)
        done = d.run([program("conditions", "linked"), "stray"])
        equal((done.returncode, done.stdout), (0, "cudaErrorIllegalAddress\n"), done.stderr)


def test_a_loop_without_end_holds_up_nobody_else():
    """Other jobs run beside an endless kernel. It runs until its job is killed, and then leaves nothing."""
    with Daemon() as d:
        alone = d.checksum([program("vecadd")])
        endless = d.start([program("conditions", "linked"), "endless"])
        equal(endless.stdout.readline(), "it runs\n", "a loop")
        equal(d.checksum([program("vecadd")]), alone, "beside it")
        equal(d.checksum([program("conditions", "linked")]), d.checksum([program("conditions", "linked")]), "beside it")
        equal(endless.poll(), None, "it goes on")
        endless.kill()
        endless.communicate()
        wait_for("end of its job", lambda: not d.jobs())
        equal(d.checksum([program("vecadd")]), alone, "behind it")


def test_kernels_launch_kernels():
    """Grids launched by grids compute correctly, and an error in one of them is an error of the whole launch."""
    with Daemon() as d:
        for capability in ("9.0", "12.1"):
            d.checksum([program("nested", "linked")], SALUS_CAPABILITY=capability)
        done = d.run([program("nested", "linked"), "stray"])
        equal((done.returncode, done.stdout), (0, "cudaErrorIllegalAddress\n"), done.stderr)
        logged(d, "kernel=_Z12launch_strayv launch=1", "the launch that the host asked for")


def test_kernels_launch_graphs():
    """Graphs launched by kernels run in the orders that CUDA promises; an error in one of them is named."""
    with Daemon() as d:
        d.checksum([program("device_graphs", "linked")])
        done = d.run([program("device_graphs", "linked"), "stray"])
        equal((done.returncode, done.stdout), (0, "cudaErrorIllegalAddress\n"), done.stderr)
        logged(d, "kernel=_Z5strayPi launch=2", "the kernel that a kernel's graph launched")


def test_kernels_change_nodes_of_graphs():
    """One job alone, then several at once: each job's kernels write to its own nodes."""
    with Daemon() as d:
        alone = d.checksum([program("changing_graphs", "linked")])
        jobs = [d.start([program("changing_graphs", "linked"), "10"]) for _ in range(4)]
        ended = [(j.communicate(timeout=PATIENCE), j.returncode) for j in jobs]
        equal([code for _, code in ended], [0] * 4, ended)
        equal(d.checksum([program("changing_graphs", "linked")]), alone, "alone again")


# ---- iterations without marks -------------------------------------------------------------------

def found_iterations(argv):
    """Returns the `job show` of a program shortly before its end, beside another that shares its device."""
    with Daemon() as d:
        other = d.start([program("train"), "10000000"])
        job = d.start([program(argv[0])] + argv[1:])
        last = {}
        while job.poll() is None:
            mine = [j for j in d.jobs() if j["pid"] == job.pid]
            if mine:
                shown = d.ctl("--json", "job", "show", str(mine[0]["id"]), check=False)
                last = json.loads(shown.stdout)["job"] if shown.returncode == 0 else last
            time.sleep(0.02)
        out, err = job.communicate()
        other.kill()
        other.communicate()
        checksum_of(subprocess.CompletedProcess(argv, job.returncode, out, err), d)
        return last


def test_iterations_are_found():
    for argv, launches, by in ((["accumulate", "1500", "1"], 20, "period"),
                               (["accumulate", "400", "4"], 71, "period"),
                               (["pair", "500"], 44, "period"), (["requests", "200"], 12.9, "idle gaps")):
        for _ in range(5):  # repeated: on a busy machine, the program may get no processor for as long as its own pause
            job = found_iterations(argv)
            equal(job["boundaries"], by, f"{argv}: how boundaries are found")
            true = job["launches"] / launches
            if 0.75 * true - 20 <= job["iterations"] <= true + 1:
                break
        else:
            raise AssertionError(f"{argv}: {job['iterations']} iterations, expected at most {true:.0f}")
    equal(found_iterations(["aimless", "20000"])["iterations"], 0, "iterations of a program without")


# ---- how programs are built and how they find the shim ------------------------------------------

def pairwise(variant, loading, names):
    def run():
        with Daemon() as d:
            for n in names:
                equal(d.checksum([program(n, variant)], loading), solo_variant(n, variant),
                      f"{n} ({variant}, {loading})")
    return run


def solo_variant(name, variant):
    """Returns the checksum of a variant alone: -G and others may round differently from the default build, but never
    from run to run."""
    key = (name, variant)
    if key not in solo_cache:
        with Daemon() as d:
            solo_cache[key] = d.checksum([program(name, variant)])
    return solo_cache[key]


def add_variant_tests():
    """Adds a test for each variant that was built: `make e2e-programs` builds a pairwise selection, check-matrix
    all."""
    for d in sorted(glob.glob(os.path.join(BUILD, "e2e", "*-*"))):
        variant = os.path.basename(d)
        if variant.startswith("sassonly"):
            continue  # refused by design: test_machine_code_only
        names = sorted(set(os.listdir(d)) & set(PROGRAMS))
        if not names:
            continue
        # Preloads the shim for one half of the product and uses the library path for the other; the matrix has both.
        both = os.environ.get("SALUS_E2E_MATRIX")
        loadings = ["preload", "path"] if both else ["path" if hash_even(variant) else "preload"]
        for loading in loadings:
            globals()[f"test_variant_{variant}_{loading}".replace("-", "_")] = \
                pairwise(variant, loading, names)


def hash_even(text):
    return sum(map(ord, text)) % 2 == 0


# ---- salusctl run --------------------------------------------------------------------------------

def test_run_starts_a_private_daemon():
    env = {k: v for k, v in os.environ.items() if k != "SALUS_RUN_DIR"}
    done = subprocess.run([tool("salusctl"), "run", "--", program("vecadd")], env=env, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE)
    found = CHECKSUM.search(done.stdout)
    if done.returncode or not found:
        raise AssertionError(f"exit {done.returncode}: {done.stdout}{done.stderr}")
    equal(found.group(2), solo("vecadd"), "checksum")
    contains(done.stderr, "private", "stderr")


def test_run_passes_exit_codes_through():
    with Daemon() as d:
        equal(d.ctl("run", "--", "sh", "-c", "exit 37", check=False).returncode, 37, "exit code")
        equal(d.ctl("run", "--", "/nonexistent/program", check=False).returncode, 127, "exit code")


def nvcc():
    return subprocess.run([os.path.join(ROOT, "scripts", "find-nvcc")], stdout=subprocess.PIPE, text=True).stdout.strip()


def test_native_code_of_nvcc_has_ptx():
    """-arch=native gives only machine code if nvcc finds a device."""
    source = os.path.join(ROOT, "test/e2e/programs/computing/vecadd.cu")
    with Daemon() as d, tempfile.TemporaryDirectory() as out:
        built = os.path.join(out, "vecadd")
        done = d.ctl("run", "-q", "--", nvcc(), "-arch=native", "-I", os.path.join(ROOT, "test/e2e/programs"), "-o", built, source)
        contains(done.stderr, "Cannot find valid GPU", "what nvcc says")
        equal(d.ctl("run", "-q", "--", built).stdout, d.run([program("vecadd")]).stdout, "the checksum")


def test_no_daemon_is_a_clear_error():
    with Daemon() as d:
        env = d.environment()
        env["SALUS_RUN_DIR"] = "/nonexistent/salus"
        env["SALUS_LOG"] = "error"
        done = subprocess.run([program("vecadd")], env=env, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=PATIENCE)
        equal(done.returncode, 1, "exit code")
        contains(done.stderr, "no CUDA-capable device is detected", "stderr")
        contains(done.stderr, "/nonexistent/salus", "stderr")


def test_a_job_that_never_fits_is_out_of_memory():
    """The job gets the daemon's reason in one line, and the error that programs expect; others continue."""
    with Daemon() as d:
        done = d.run([program("vecadd")], SALUS_PERSISTENT="10TiB", SALUS_EPHEMERAL="1MiB")
        equal(done.returncode, 1, "exit code")
        contains(done.stderr, "out of memory", "stderr")
        contains(done.stderr, "10 TiB", "the reason on stderr")
        equal(done.stderr.count(" shim "), 1, "lines of the library")
        equal(d.checksum([program("vecadd")]), solo("vecadd"), "checksum of the next job")


def test_demo_fails_on_a_difference():
    """The demo's verdict with prepared results: 0 when all agree, 1 when one differs or failed."""
    path = os.path.join(ROOT, "scripts", "demo")
    demo = importlib.machinery.SourceFileLoader("demo", path).load_module()
    names = [name for name, _, _ in demo.JOBS]
    demo.run_alone = lambda: {n: ("00ff", 1.0) for n in names}
    for changed, status in (({}, 0), ({names[2]: ("00fe", 1.0, "")}, 1), ({names[0]: (None, 1.0, "")}, 1)):
        demo.run_together = lambda c=changed: {n: ("00ff", 1.0, "") for n in names} | c
        with contextlib.redirect_stdout(io.StringIO()):
            equal(demo.main(), status, f"exit status with {changed}")


# ---- offenders -----------------------------------------------------------------------------------

def offence(what, code, parts, options=()):
    """Three correct programs beside one that misbehaves: it gets CUDA's error, and they do not notice."""
    def run():
        with Daemon(*OFTEN, *options) as d:
            honest = start_bystanders(d)
            done = d.run([program("offender"), what], SALUS_JOB_NAME="offender", SALUS_SAVEPOINTS="yes")
            equal(done.returncode, code % 256, f"CUDA error of {what}: {done.stdout}{done.stderr}{d.log()[-6000:]}")
            for part in parts:
                logged(d, part, "the worker's log and the program's stderr", done.stderr)
            check_honest(honest, d)
    return run


test_offender_out_of_bounds = offence("oob", 700, ["kernel=_Z8read_farPil", "launch=2", "error="])
test_offender_null_pointer = offence("null", 700, ["kernel=_Z8read_farPil", "launch=2"])
test_offender_misaligned = offence("misaligned", 716, ["kernel=_Z10misalignedPc"])
test_offender_trap = offence("trap", 719, ["kernel=_Z8trappingPi"])
test_offender_assert = offence("assert", 710, ["Assertion `p[threadIdx.x] == 0 && threadIdx.x < 3` failed",
                                              "thread: [3,0,0]"])
test_offender_texture = offence("texture", 700, ["kernel=_Z7texturePiy"] + ([] if ON_DRIVER else ["names no texture"]))
test_offender_surface = offence("surface", 719, ["kernel=_Z7surfacePiy", "outside the surface"])
test_offender_kernel_timeout = offence("endless", 702, ["kernel=_Z7endlessPVi"],
                                       ["--kernel-timeout", "2s"])


def test_killed_in_an_endless_kernel():
    """kill -9: the kernel ends at its next slice and its memory is back, while correct programs run."""
    with Daemon(*OFTEN) as d:
        honest = start_bystanders(d)
        p = d.start([program("offender"), "endless"], SALUS_JOB_NAME="doomed")
        equal(p.stdout.readline(), "launched endless\n", "output")
        wait_for("the job is listed", lambda: any(j["name"] == "doomed" for j in d.jobs()))
        p.send_signal(signal.SIGKILL)
        killed = time.monotonic()
        wait_for("the job has ended", lambda: all(j["name"] != "doomed" for j in d.jobs()))
        took = time.monotonic() - killed
        p.wait()
        check_honest(honest, d)
        wait_for("its memory is back", lambda: d.ctl_json("gpu", "list")["gpus"][0]["memory_used_bytes"] == 0)
        print(f"    killed job gone after {took * 1e3:.0f} ms", flush=True)


def test_a_wait_for_ever_is_nobody_elses():
    """A job waits for ever in the lane of others, which still get their turns. When killed, it ends with everything
    that it has."""
    with Daemon("--max-lanes", "1", "--lease", "50ms") as d:
        p = d.start([program("values"), "forever"], SALUS_JOB_NAME="patient")
        equal(p.stdout.readline(), "waits\n", "output")
        honest = start_honest(d)
        check_honest(honest, d)
        wait_for("the others have left", lambda: [j["name"] for j in d.jobs()] == ["patient"])
        job = next(j["id"] for j in d.jobs())
        equal(d.ctl("job", "kill", str(job)).returncode, 0, "salusctl job kill")
        p.communicate()
        wait_for("all jobs have left", lambda: not d.jobs())
        wait_for("all memory is back",
                 lambda: d.ctl_json("gpu", "list")["gpus"][0]["memory_used_bytes"] == 0)


def test_killed_in_mid_launch():
    with Daemon() as d:
        honest = start_honest(d)
        for delay in (0.02, 0.05, 0.1, 0.2, 0.3):
            p = d.start([program("train"), "100000"])
            time.sleep(delay)
            p.send_signal(signal.SIGKILL)
            p.communicate()
        check_honest(honest, d)
        wait_for("all jobs have left", lambda: not d.jobs())
        wait_for("all memory is back",
                 lambda: d.ctl_json("gpu", "list")["gpus"][0]["memory_used_bytes"] == 0)


def test_garbage_in_the_ring():
    with Daemon() as d:
        honest = start_honest(d)
        for seed in range(5):
            done = d.run([tool("test/e2e/garbage_client"), d.run_dir, str(seed)])
            equal(done.returncode, 0, f"garbage client, seed {seed}: {done.stdout}{done.stderr}")
        check_honest(honest, d)


# ---- kills ---------------------------------------------------------------------------------------

def test_worker_killed():
    """Every client gets an error and none hangs; the next job finds a new worker. run_recovery.py tests the jobs that
    continue."""
    with Daemon("--recovery", "no") as d:
        jobs = [d.start([program("train"), "1000000"]) for _ in range(3)]
        wait_for("the jobs run", lambda: sum(j["launches"] > 0 for j in d.jobs()) == 3)
        old = d.worker_pid()
        os.kill(old, signal.SIGKILL)
        for p in jobs:
            _, err = p.communicate(timeout=PATIENCE)
            equal(p.returncode, 1, "exit code of a job whose worker died")
            contains(err, "busy or unavailable", "its stderr")
        wait_for("a new worker", lambda: d.worker_pid() not in (None, old))
        equal(d.checksum([program("vecadd")]), solo("vecadd"), "checksum under the new worker")


def test_broker_killed():
    with Daemon() as d:
        p = d.start([program("train"), "1000000"])
        wait_for("the job runs", lambda: any(j["launches"] > 0 for j in d.jobs()))
        d.process.kill()
        d.process.wait()
        _, err = p.communicate(timeout=PATIENCE)
        equal(p.returncode, 1, "exit code of a job whose broker died")
        contains(err, "busy or unavailable", "its stderr")


# ---- bad images ----------------------------------------------------------------------------------

def test_bad_images():
    with Daemon() as d:
        done = d.run([program("badimage")])
        equal(done.returncode, 0, f"badimage: {done.stdout}{done.stderr}{d.log()[-2000:]}")
        logged(d, "tcgen05", "the worker's log names the unsupported instruction")


def test_machine_code_only():
    with Daemon() as d:
        done = d.run([program("vecadd", "sassonly-static")])
        contains(done.stderr, "no kernel image is available", "stderr")
        logged(d, "_Z6vecaddPKfS0_Pfi", "the worker's log names the kernel")


def test_a_unit_without_code_for_the_device_harms_no_other():
    with Daemon() as d:
        for loading in "LAZY", "EAGER":
            done = d.run([program("newer", "linked")], CUDA_MODULE_LOADING=loading)
            equal((done.returncode, done.stdout), (0, "newer\n"), loading + done.stderr)


# ---- profilers -----------------------------------------------------------------------------------

ACTIVITIES = """fill of 4 bytes
kernel _Z6slowlyiPi grid 2 block 32 in 42
kernel _Z6slowlyiPi grid 3 block 64
copy 2 of 4 bytes
"""


def test_a_profiler_gets_the_kernels_copies_and_fills_of_its_program():
    with Daemon() as d:
        done = d.run([program("activities")])
        equal((done.returncode, done.stdout, done.stderr), (0, ACTIVITIES, ""), "activities")
        null = d.run([program("activities")], SALUS_DEVICE_MODE="null")
        equal((null.returncode, null.stdout), (0, ACTIVITIES), "kernels that compute nothing take their time as well")


# ---- messages about refusals ---------------------------------------------------------------------

WENT_ON = "begin\nwent on with old memory\n"
SAID = "error shim what="


def test_the_first_refused_kernel_is_said_once():
    """A library that ignores the error continues with old memory, so its user must be able to read why."""
    refused = program("refused", "sassonly-static")
    with Daemon() as d:
        done = d.run([refused])
        equal((done.returncode, done.stdout), (0, WENT_ON), "what the program does and prints")
        equal(done.stderr.count("\n"), 1, f"lines: {done.stderr}")
        for part in (SAID, "refused_first", "only machine code", "-gencode"):
            contains(done.stderr, part, "stderr")
        logged(d, "refused_first", "the worker's log")
        more = d.run([refused], SALUS_LOG="shim:warn").stderr
        equal(more.count("kernel=_Z"), 2, f"kernels refused: {more}")
        equal(d.run([refused], SALUS_LOG="shim:none").stderr, "", "stderr when it is switched off")


def test_a_strict_job_ends_at_the_first_refusal():
    refused = program("refused", "sassonly-static")
    with Daemon() as d:
        done = d.run([refused], SALUS_STRICT="1")
        equal((done.returncode, done.stdout), (9, "begin\n"), "exit status and output")
        contains(done.stderr, "refused_first", "stderr")
        equal(d.run([program("lacking")], SALUS_STRICT="1").returncode, 9, "at a call")
        equal(d.run([refused], SALUS_STRICT="0").returncode, 0, "exit status when not strict")
        for options, status in ((["--strict"], 9), ([], 0)):
            done = d.ctl("run", "-q", *options, "--", refused, check=False)
            equal(done.returncode, status, f"salusctl run {options}")
        equal(d.ctl("run", "-q", "--strict", "--", program("vecadd"), check=False).returncode, 0, "vecadd")


def test_unsupported_calls_are_named_once():
    with Daemon() as d:
        done = d.run([program("lacking")])
        equal((done.returncode, done.stdout), (0, "lives\n"), done.stderr)
        for name in ("call=cuImportExternalMemory ", "call=cuImportExternalSemaphore ",
                     "call=6bd5fb6c5bf4e74a8987d93912fd9df9[11] "):
            equal(done.stderr.count(name), 1, f"{name} in {done.stderr}")
        equal(done.stderr.count("\n"), 3, f"lines: {done.stderr}")


def test_programs_that_are_served_hear_nothing():
    """Programs without refusals print nothing on stderr, though runtimes look for many missing names and tables."""
    with Daemon() as d:
        for name in PROGRAMS[:7] + ["accumulate", "managed", "contextless"]:
            done = d.run([program(name)])
            equal((done.returncode, done.stderr), (0, ""), name)
        found = d.run([program("vecadd")], SALUS_LOG="shim:debug").stderr
        contains(found, 'what="the driver has no such function" name=cuGLInit ', "lookups that fail, when asked for")
        contains(found, 'what="the driver has no such private table" table=f8cff95121468b4eb9e2fb469e7c0dd9', "tables")


def test_registered_memory():
    with Daemon() as d:
        for _ in range(2):
            done = d.run([program("registered")])
            equal((done.returncode, done.stderr), (0, ""), "shown to the device")
        done = d.run([program("registered"), "refused"])
        equal((done.returncode, done.stdout), (0, "refused\n"), done.stderr)
        contains(done.stderr, "the device cannot map registered memory", "stderr")
        contains(done.stderr, "cudaHostAlloc", "what to do")
        equal(done.stderr.count("\n"), 1, f"lines: {done.stderr}")
        equal(d.run([program("registered"), "refused"], SALUS_STRICT="1").returncode, 9, "when strict")


def test_unified_memory():
    """Managed memory at random moments, compared with a model; the seed chooses them."""
    with Daemon() as d:
        for seed in ("1", "2", "3"):
            done = d.run([program("unified"), seed])
            equal((done.returncode, done.stderr), (0, ""), f"seed {seed}: {done.stdout}")


# Without ipc: the worker handles events between processes, whichever call uses them.
COUNTED = ["features", "graph_features", "virtual", "managed", "registered", "textures", "thrust",
           "train", "matmul", "pipeline"]


def class_of_calls():
    """Returns the classes by name, from docs/cuda-coverage.md."""
    with open(os.path.join(ROOT, "docs", "cuda-coverage.md")) as f:
        return dict(re.findall(r"^\| `(cu\w+)` \| [^|]+ \| (\w+) \|", f.read(), re.M))


def asked(counts, classes, kind):
    """Returns the calls of a class that waited for an answer of the worker: name, calls, questions."""
    return [(name, *n) for name, n in counts.items() if classes[name] == kind and n[1]]


def test_calls_answered_in_the_client_ask_nobody():
    """Runs whole programs with a library that counts the questions of each call."""
    counts, classes = {}, class_of_calls()
    with Daemon() as d:
        path = os.path.join(d.run_dir, "counted")
        for name in COUNTED:
            done = d.run([program(name)], SALUS_COUNTED=path)
            equal(done.returncode, 0, f"{name}: {done.stderr}")
        with open(path) as f:
            for name, calls, questions in (line.split() for line in f):
                before = counts.get(name, (0, 0))
                counts[name] = (before[0] + int(calls), before[1] + int(questions))
    equal(asked(counts, classes, "local"), [], "local calls that asked the worker")
    local = [n for n in counts if classes[n] == "local"]
    if len(local) < 80:
        raise AssertionError(f"only {len(local)} local calls were made: {sorted(local)}")
    ordered = [n for name, n in counts.items() if classes[name] == "async"]
    if sum(q for _, q in ordered) * 1000 > sum(calls for calls, _ in ordered):
        raise AssertionError(f"asked before what is only sent: {asked(counts, classes, 'async')}")
    # Checks the count itself: a call that asks the worker, declared as local, must be found.
    equal(asked(counts, dict(classes, cuLibraryGetKernel="local"), "local")[0][0],
          "cuLibraryGetKernel", "a call that asks")


def test_calls_that_need_no_context():
    with Daemon() as d:
        done = d.run([program("contextless")])
        equal((done.returncode, done.stdout), (0, "contextless\n"), done.stderr)


def test_promises_about_settings_are_kept():
    """Each promise of proto/promises.def in a process of its own."""
    with Daemon() as d:
        names = d.run([program("promises")]).stdout.split()
        equal(len(names) > 50, True, "there are many")
        if ON_DRIVER:  # there, a limit of kernels belongs to the context, and so to all jobs
            names = [name for name in names if not name.startswith("limit_")]
        broken = []
        for name in names:
            done = d.run([program("promises"), name])
            if (done.returncode, done.stdout) != (0, name + "\n"):
                broken.append(f"{name}: {done.returncode}, {done.stdout[-200:]} {done.stderr[-400:]}")
        equal(broken, [], "promises that are broken")


def test_the_device_is_one_whole():
    with Daemon() as d:
        done = d.run([program("whole")])
        equal((done.returncode, done.stdout), (0, "whole\n"), done.stderr)


def test_green_contexts_have_a_part_of_the_device():
    with Daemon() as d:
        done = d.run([program("green")])
        equal((done.returncode, done.stdout), (0, "green\n"), done.stderr)
        equal("event=no_shares" in d.log(), False, "the device has parts")


def library_of_the_device_runtime():
    found = glob.glob(os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(nvcc()))), "**", "libcudadevrt.a"),
                      recursive=True)
    return found[0]


def test_device_code_is_linked_at_run_time():
    """Links with the archive of the device runtime. It has only machine code for 9.0, but the link needs nothing of
    it."""
    units = [os.path.join(BUILD, "e2e", "linked", "link_unit." + kind) for kind in ("o", "a", "cubin")]
    with Daemon() as d:
        done = d.run([program("link"), *units, library_of_the_device_runtime()])
        equal((done.returncode, done.stdout), (0, "ptx 42\nobject 47\narchive 47\nlibrary 42\n"), done.stderr)
        contains(done.stderr, "link_unit.cubin: the input has only machine code, and no PTX "
                 "that this device (sm_90) can run", "stderr")


# ---- a program that calls the driver as a worker on the real driver does --------------------------

WORKER_TOPICS = ["memory", "words", "green", "code", "textures"]


def driver_worker(daemon, *topics):
    done = daemon.run([tool("test/e2e/driver_worker"), *topics], "path")
    equal((done.returncode, [l for l in done.stdout.splitlines() if l.startswith("ok ")]),
          (0, [f"ok {t}" for t in topics]), done.stdout + done.stderr + daemon.log()[-2000:])
    return done


def test_a_worker_can_use_this_driver():
    """Each topic alone, and all in one process."""
    with Daemon() as d:
        for topics in [[t] for t in WORKER_TOPICS] + [WORKER_TOPICS]:
            driver_worker(d, *topics)
        wait_for("all jobs have left", lambda: not d.jobs())


def test_a_worker_hears_of_an_illegal_access_everywhere():
    """Every call on every thread returns the error of an illegal access, and the process can end in the middle of such
    calls."""
    with Daemon() as d:
        for _ in range(3):
            driver_worker(d, "fault")
            driver_worker(d, "exit")
        logged(d, "ERR_ILLEGAL_ADDRESS", "the worker's log")


def test_registered_files_are_one_memory_for_all():
    """Several processes map a sealed memfd: all see each device's writes."""
    with Daemon() as d:
        before = descriptors(d.worker_pid())
        for topics in (["shared"], ["shared", "many", "shared"]):
            done = d.run([tool("test/e2e/driver_worker"), *topics], "path")
            equal((done.returncode, done.stdout.count("ok ")), (0, len(topics)), done.stderr)
        done = driver_worker(d, "unshared", "shared")
        contains(done.stderr, "F_SEAL_SHRINK", "why a file is not shown")
        wait_for("all jobs have left", lambda: not d.jobs())
        wait_for("all descriptors are closed", lambda: descriptors(d.worker_pid()) == before)


def test_registered_files_and_deaths_on_either_side():
    """Kills the programs in the middle of their work, and then the worker: nothing is left, and no process hangs."""
    with Daemon() as d:
        driver_worker(d, "shared")
        wait_for("all jobs have left", lambda: not d.jobs())
        pids = [d.process.pid, d.worker_pid()]
        before, jobs = [descriptors(pid) for pid in pids], []
        for i in range(12):
            jobs.append(d.start([tool("test/e2e/driver_worker"), "many", "shared"], "path", own_group=True))
            time.sleep(0.01 + 0.017 * i)
            jobs[-1].kill()
            jobs[-1].wait()
        # The other process of a pair waits for its turn until it is killed.
        for job in jobs:
            with contextlib.suppress(ProcessLookupError):
                job.kill_group()
        wait_for("all jobs have left", lambda: not d.jobs())
        wait_for("all descriptors are closed", lambda: [descriptors(pid) for pid in pids] == before)
        job = d.start([tool("test/e2e/driver_worker"), *["many"] * 1000], "path")
        equal(job.stdout.readline(), "ok many\n", "it runs")
        os.kill(d.worker_pid(), signal.SIGKILL)
        _, err = job.communicate(timeout=PATIENCE)
        equal(job.returncode, 1, err)
        wait_for("a new worker", lambda: d.worker_pid() not in (None, pids[1]))
        driver_worker(d, "unshared")


def test_registered_files_count_as_pinned():
    """All registered memory counts, touched or not, while it is registered. run_limits.py tests the limits."""
    with Daemon() as d:
        pinned = lambda: sum(t["pinned_bytes"] for t in d.ctl_json("user", "list")["users"])
        jobs = [d.start([tool("test/e2e/driver_worker"), "holds"], "path") for _ in range(2)]
        for job in jobs:
            equal(job.stdout.readline(), "holds\n", "it is shown")
        wait_for("two times 60 MiB", lambda: 120 << 20 <= pinned() < 150 << 20)
        jobs[0].kill()
        jobs[0].communicate()
        wait_for("once", lambda: 60 << 20 <= pinned() < 90 << 20)
        jobs[1].kill()
        jobs[1].communicate()


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def test_workers_that_are_killed_leave_nothing():
    """Kills several at once, at any moment of their work: memory, descriptors and jobs are as before."""
    with Daemon() as d:
        driver_worker(d, *WORKER_TOPICS)
        wait_for("all jobs have left", lambda: not d.jobs())
        pids = [d.process.pid, d.worker_pid()]
        before = [descriptors(pid) for pid in pids]
        for i in range(6):
            jobs = [d.start([tool("test/e2e/driver_worker"), "busy"], "path") for _ in range(3)]
            for n, job in enumerate(jobs):
                equal(job.stdout.readline(), "busy\n", "it runs")
                time.sleep(0.013 * ((7 * i + 5 * n) % 11))
                job.kill()
            for job in jobs:
                job.communicate()
        wait_for("all jobs have left", lambda: not d.jobs())
        wait_for("all memory is back", lambda: d.ctl_json("gpu", "list")["gpus"][0]["memory_used_bytes"] == 0)
        wait_for("all descriptors are closed", lambda: [descriptors(pid) for pid in pids] == before)
        driver_worker(d, *WORKER_TOPICS)


# ---- compute capability --------------------------------------------------------------------------

def told(daemon, **env):
    done = daemon.run([program("capability", "ptxmany-static")], **env)
    equal(done.returncode, 0, done.stdout + done.stderr + daemon.log()[-2000:])
    return done.stdout


def described(daemon, **env):
    done = daemon.run([tool("test/e2e/describe")], "path", **env)
    equal(done.returncode, 0, done.stderr)
    return json.loads(done.stdout)


def test_the_device_is_described_as_ever():
    """Compares everything that a program may ask of the software GPU with the recorded answers. A job that asks for a
    capability below Hopper's is shown none of Hopper's features."""
    with open(os.path.join(ROOT, "test/data/describe/soft.json")) as f:
        recorded = json.load(f)
    with Daemon("--device-memory", "256MiB", "--sm-count", "16") as d:
        equal(described(d), recorded, "what it says")
        for name in ("MINOR", "MAJOR"):
            recorded["attributes"][f"CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_{name}"] = {"MAJOR": 7, "MINOR": 5}[name]
        for name in ("CLUSTER_LAUNCH", "TENSOR_MAP_ACCESS_SUPPORTED"):
            recorded["attributes"][f"CU_DEVICE_ATTRIBUTE_{name}"] = 0
        recorded["capability"] = 75
        recorded["sm_partition"] = {"count": 16, "least": 2, "unit": 2}
        equal(described(d, SALUS_CAPABILITY="7.5"), recorded, "what it says as 7.5")


def test_each_job_has_the_capability_that_it_asks_for():
    """Each job also gets the newest PTX that is not above its capability."""
    with Daemon() as d:
        equal(told(d), "device 90 ran 900\n", "the default")
        for asked, device, ran in (("7.5", 75, 750), ("8.6", 86, 860), ("8.9", 89, 860), ("10.3", 103, 900),
                                   ("12.1", 121, 1200), ("13.0", 130, 1200)):
            equal(told(d, SALUS_CAPABILITY=asked), f"device {device} ran {ran}\n", asked)
        done = d.ctl("run", "-q", "--capability", "12.0", "--", program("capability", "ptxmany-static"))
        equal(done.stdout, "device 120 ran 1200\n", done.stderr)
        done = d.ctl("run", "-q", "--capability", "9.1", "--", "true", check=False)
        equal(done.returncode, 2, done.stderr)
        contains(done.stderr, "--capability: '9.1' is not one of 7.5|8.0|", "stderr")
        equal(told(d, SALUS_CAPABILITY="9.1"), "device 90 ran 900\n", "a wrong one is left out")


def test_the_daemon_has_a_capability_for_those_that_ask_for_none():
    with Daemon("--capability", "8.9") as d:
        equal(told(d), "device 89 ran 860\n", "as configured")
        equal(told(d, SALUS_CAPABILITY="12.0"), "device 120 ran 1200\n", "as the job asks")
        equal(d.ctl_json("gpu", "list")["gpus"][0]["compute"], "8.9", "what is listed")


def in_library(daemon, name, expression, **env):
    """Returns the output of a Python process that has loaded a library named like one of NVIDIA's."""
    path = os.path.join(BUILD, "e2e", "linked", f"libcurand_{name}.so")
    done = daemon.run([sys.executable, "-c", f"import ctypes; l = ctypes.CDLL({path!r}); {expression}"], **env)
    equal(done.returncode, 0, done.stdout + done.stderr)
    return done.stdout


def test_libraries_of_nvidia_are_told_a_newer_capability():
    """Such libraries see a newer capability, for which alone they have PTX, unless the job asks for one. A runtime
    shared with others caches the device's capability for all of them."""
    with Daemon() as d:
        equal(in_library(d, "capability", "l._Z4tellv()"), "device 130 ran 1200\n", "a runtime of its own")
        equal(in_library(d, "capability", "l._Z4tellv()", SALUS_CAPABILITY="8.9"), "device 89 ran 860\n", "asked for")
        both = "print(l.asked(), l.known())"
        equal(in_library(d, "asks", both), "130 90\n", "the program's runtime")
        equal(in_library(d, "asks", both, SALUS_CAPABILITY="8.9"), "89 89\n", "asked for")


# ---- NVML ----------------------------------------------------------------------------------------

READER = os.path.join(BUILD, "test", "e2e", "nvml_reader")
READ = re.compile(r"^name=(.*) total=(\d+) used=(\d+) busy=(\d+) processes=(.*)$", re.M)


def read_nvml(daemon, *words, **env):
    """Returns each line of the reader as (name, total, used, busy, {pid: bytes})."""
    done = daemon.run([READER, *words], **env)
    equal(done.returncode, 0, f"exit code: {done.stdout}{done.stderr}{daemon.log()[-2000:]}")
    return [(name, int(total), int(used), int(busy),
             {int(p): int(b) for p, b in (e.split(":") for e in processes.split(",") if e)})
            for name, total, used, busy, processes in READ.findall(done.stdout)]


def test_nvml_tells_who_uses_the_device():
    """The reader is not a job; a child that it forks sees the same."""
    with Daemon() as d:
        gpu = d.ctl_json("gpu", "list")["gpus"][0]
        equal(read_nvml(d), [(gpu["name"], gpu["memory_bytes"], 0, 0, {})], "what an idle device shows")
        p = d.start([program("train"), "10000000"], SALUS_PERSISTENT="96MiB", SALUS_EPHEMERAL="32MiB")
        wait_for("the job is busy", lambda: read_nvml(d)[0][3] > 0)
        job = wait_for("the job is listed", lambda: len(jobs := d.jobs()) == 1 and jobs)[0]
        lines = read_nvml(d, "fork")
        equal(len(lines), 2, "lines of a reader and its child")
        for _, total, used, _, processes in lines:
            equal(list(processes), [p.pid], "processes")
            equal(total, gpu["memory_bytes"], "memory")
            equal(used, 128 << 20, "memory that others cannot have: what the job has reserved")
            equal(processes[p.pid], job["memory_bytes"], "memory that the job has allocated")
        equal(len(d.jobs()), 1, "jobs: readers are none")
        p.kill()
        p.communicate()
        wait_for("its memory is back", lambda: read_nvml(d)[0][2:] == (0, 0, {}))


def test_nvml_is_found_by_run_and_needs_a_daemon():
    with Daemon() as d:
        done = d.ctl("run", "-q", "--", READER)
        contains(done.stdout, "name=Salus software GPU", "the reader's output")
        done = subprocess.run([READER], env={**d.environment(), "SALUS_RUN_DIR": "/nonexistent"}, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE)
        equal((done.returncode, done.stdout, done.stderr),
              (9, "nvmlInit_v2: No salusd answers: start the daemon\n", ""), "without a daemon")


# ---- null jobs -----------------------------------------------------------------------------------

TAG = "(not computed)"
VARIABLES = "variables 1 2 3 4 offset 5 zeros 0 both 6\n"
NULL = ("run", "-q", "--device-mode=null", "--")
FIRST_LINE = "salusctl: not computed: kernels of this command take an estimated time and compute nothing"


def computed(steps):
    """Returns the program's output if its kernels are computed."""
    return f"device Salus software GPU\n{VARIABLES.replace('both 6', f'both {6 + 3 * steps}')}steps {steps} changed yes\n"


def not_computed(steps):
    return f"device Salus software GPU {TAG}\n{VARIABLES}steps {steps} changed no\n"


def test_null_mode_takes_machine_code_and_computes_nothing():
    """Memory has the copied values, and variables their initial ones; PTX is computed as little as machine code."""
    with Daemon() as d:
        for variant in ("sassonly-static", "default-static"):
            done = d.ctl(*NULL, program("machine", variant), "2")
            equal(done.stdout, not_computed(2), variant)
            equal(done.stderr.splitlines()[0].startswith(FIRST_LINE), True, f"first line: {done.stderr}")
            contains(done.stderr, "error shim what=\"this program is not computed", "what the job itself says")
        equal(d.run([program("machine", "sassonly-static"), "2"], SALUS_DEVICE_MODE="null").stdout, not_computed(2),
              "by its variable")
        equal(d.ctl("run", "-q", "--", program("machine"), "2").stdout, computed(2), "computed")
        equal(d.ctl("run", "-q", "--device-mode=compute", "--", program("machine"), "2").stdout, computed(2), "computed")
        equal(d.run([program("machine", "sassonly-static"), "2"]).returncode, 1, "machine code, to be computed")
        equal(d.ctl("run", "--device-mode=nought", "true", check=False).returncode, 2, "no such mode")
        wait_for("what the two computed jobs taught is known", lambda: sorted(
            (p["name"], p["count"]) for p in d.ctl_json("profile", "list")["profiles"]) == [("backward", 12), ("forward", 12)])


def say_so(lines, what):
    for line in lines:
        contains(line, "not computed", what)


def test_every_line_about_a_null_job_says_so():
    with Daemon() as d:
        p = d.start([program("machine", "sassonly-static"), "1000000"], SALUS_DEVICE_MODE="null", SALUS_JOB_NAME="n" * 60)
        try:
            job = wait_for("it launches", lambda: next((j for j in d.jobs() if j["launches"] > 100), None))
            equal((job["mode"], job["name"]), ("null", "n" * 48 + " " + TAG), "mode and name")
            number = str(job["id"])
            for words in (("job", "list"), ("--plain", "job", "list"), ("lane", "list"), ("top", "-n", "1", "--batch")):
                about = [l for l in d.ctl(*words).stdout.splitlines() if "nnnn" in l]
                equal(len(about), 1, f"lines of {words}")
                say_so(about, f"{words}")
            for words in (("job", "show", number), ("job", "set", number, "weight=3"), ("job", "pause", number),
                          ("job", "resume", number), ("job", "kill", number)):
                contains(d.ctl(*words).stdout, TAG, f"{words}")
        finally:
            p.kill()
            p.wait()
        ended = wait_for("history", lambda: [e for e in d.ctl_json("history")["history"] if e["id"] == job["id"]])[0]
        equal((ended["mode"], ended["name"], ended["how"]), ("null", "n" * 48 + " " + TAG, "killed"), "its end")
        say_so([l for l in d.ctl("history").stdout.splitlines() if "nnnn" in l], "history")
        logged(d, "event=left", "the worker's log")
        lines = [l for l in d.log().splitlines() if re.search(rf"\bjob={number}\b", l)]
        equal(len(lines) >= 4, True, f"lines about it:\n{d.log()}")
        say_so(lines, "the log")
        equal(d.ctl_json("profile", "list")["profiles"], [], "what is learned of its kernels")


def test_null_jobs_leave_computing_ones_alone():
    """Computing jobs have the checksums of runs alone, and all jobs are listed with their mode."""
    names = ["vecadd", "matmul", "train"]
    with Daemon() as d:
        null = [d.start([program("machine", "sassonly-static"), "1000000"], SALUS_DEVICE_MODE="null") for _ in range(2)]
        try:
            wait_for("they launch", lambda: sum(j["launches"] > 100 for j in d.jobs()) == 2)
            for name in names:
                equal(d.checksum([program(name)]), solo(name), name)
            equal(sum(j["mode"] == "null" for j in d.jobs()), 2, "they are still there")
        finally:
            for p in null:
                p.kill()
                p.wait()
        wait_for("all ended", lambda: len(d.ctl_json("history")["history"]) == 5)
        modes = sorted((e["mode"], e["name"]) for e in d.ctl_json("history")["history"])
        equal(modes, [("compute", n) for n in sorted(names)] + [("null", f"machine {TAG}")] * 2, "the history")


def test_what_was_learned_of_a_null_job_is_for_its_like():
    """A program's remembered reservation belongs to the mode in which the program ran."""
    with Daemon() as d:
        machine = [program("machine"), "100"]
        for env, what in (({"SALUS_DEVICE_MODE": "null"}, "null"), ({}, "compute")):
            before = len(d.ctl_json("history")["history"])
            d.run(machine, **env)
            wait_for("history", lambda: len(d.ctl_json("history")["history"]) > before)
            equal(d.ctl_json("history")["history"][-1]["mode"], what, "mode")
        d.process.terminate()
        d.process.wait()
        keys = [line.split()[1] for line in open(os.path.join(d.run_dir, "profiles")).read().splitlines()[1:]]
        equal(len(set(keys)), 2, f"profiles {keys}")


# ---- counts --------------------------------------------------------------------------------------

def test_steady_state_makes_no_system_call():
    """Makes 1,000 launches between two markers, under strace. Five rounds must have no system call, of as many rounds
    as it takes: on a busy machine the worker may lose its core in the middle of a round, and a client that finds the
    ring full waits."""
    with Daemon() as d:
        counts = []
        while len(counts) < 400 and counts.count(0) < 5:
            counts += launch_system_calls(d)
        print(f"    system calls in 1,000 launches, by round: {counts}", flush=True)
        equal(len(counts) % 20, 0, "rounds")
        equal(sorted(counts)[4], 0, "system calls in the fifth best round")


if __name__ == "__main__":
    add_variant_tests()
    sys.exit(run_tests({**globals(), **vars(run_events)}))
