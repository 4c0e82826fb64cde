#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests two software GPUs under one daemon: which one a job gets, that a job's results are those of a run alone, and
that faults of one GPU do not affect the jobs of the other. When nested, each of the daemon's workers has its own GPU of
the daemon below.

    test/e2e/sharing/run_gpus.py [--list] [NAME-PART...]
"""
import json
import os
import re
import signal
import stat
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from harness import ABOVE, BUILD, NESTED, PATIENCE, Daemon, checksum_of, program, run_tests, tool, wait_for

TRAIN = [program("train"), "300"]
LONG = [program("train"), "10000000"]
READER = os.path.join(BUILD, "test", "e2e", "nvml_reader")


def equal(got, want, what):
    if got != want:
        raise AssertionError(f"{what}: {got!r}, expected {want!r}")


def contains(text, part, what):
    if part not in text:
        raise AssertionError(f"{what} lacks {part!r}:\n{text[-3000:]}")


def script(path, text):
    with open(path, "w") as f:
        f.write("#!/bin/sh\n" + text)
    os.chmod(path, stat.S_IRWXU)
    return path


def worker_in(folder):
    """Returns a worker's program. When nested, the worker of GPU N is a job on GPU N below, which every job sees as its
    first GPU."""
    if not NESTED:
        return tool("salus-gpu")
    return script(os.path.join(folder, "nested-worker"), '''
for a; do
    shift
    b=$a
    [ "$last" != --gpu ] || { export SALUS_GPU="$a"; b=0; }
    set -- "$@" "$b"
    last=$a
done
''' + f'exec {tool("salus-gpu")} "$@"\n')


class Two(Daemon):
    """Two GPUs, both ready; `text` has sections of a configuration file."""

    def __init__(self, *options, text="", ready=2):
        super().__init__(*options)
        config = self.configure(self, "device_memory = 1GiB\n" + text)
        self.options, self.want = (*config, *options), ready
        if NESTED:
            self.nest(text)

    @staticmethod
    def configure(daemon, text):
        path = os.path.join(daemon.run_dir, "salus.conf")
        with open(path, "w") as f:
            f.write("[gpu]\ngpus = 2\n" + text)
        return "--config", path

    def nest(self, text):
        """Gives the daemon below the options that describe the GPUs, and this daemon those that tell how to use
        them."""
        driver = os.path.join(BUILD, "shim", "libcuda.so.1")
        self.options += (*ABOVE, "--driver", driver)
        if "--worker" not in self.options:
            self.options += ("--worker", worker_in(self.run_dir))
        below = re.findall(r"^(?:\[gpu \d\]|sm_count = .*)$", text, re.M)
        self.below.options = (*self.below.options, *self.configure(self.below, "\n".join(below) + "\n"))

    def _ready(self):
        return super()._ready() and self.ctl_json("status")["status"]["gpus_ready"] >= self.want

    def gpus(self):
        return self.ctl_json("gpu", "list")["gpus"]

    def gpu(self, number):
        return self.ctl_json("gpu", "show", str(number))["gpu"]

    def run_on(self, number, argv):
        """Runs a job under `salusctl run`, as users do."""
        return self.ctl("run", "-q", "--gpu", str(number), "--", *argv, check=False)


def kill(d, *jobs):
    for p in jobs:
        p.kill()
        p.communicate(timeout=PATIENCE)
    wait_for("no jobs", lambda: not d.jobs())


def history(d, count):
    """Returns the history once it has this many jobs: the worker reports a job's end last, after it has released the
    job."""
    return wait_for(f"{count} jobs in the history",
                    lambda: (found := d.ctl_json("history")["history"]) and len(found) >= count and found)


def launches(d):
    """Returns {GPU: launches of its jobs}."""
    count = {0: 0, 1: 0}
    for j in d.jobs():
        count[j["gpu"]] += j["launches"]
    return count


def test_the_list_shows_both():
    with Two(text="[gpu 1]\nsm_count = 5\nlane_policy = fifo\n") as d:
        first, second = d.gpus()
        equal((first["id"], second["id"]), (0, 1), "numbers")
        equal((first["state"], second["state"]), ("ready", "ready"), "states")
        equal((first["sms"], second["sms"]), (16, 5), "multiprocessors")
        equal((first["lane_policy"], second["lane_policy"]), ("fair", "fifo"), "policies")
        equal(first["uuid"] != second["uuid"], True, "UUIDs differ")
        equal(first["worker_pid"] != second["worker_pid"], True, "workers differ")
        equal(d.gpu(1), second, "gpu show 1")
        status = d.ctl_json("status")["status"]
        equal((status["gpus"], status["gpus_ready"], status["state"]), (2, 2, "ok"), "status")
        lines = d.ctl("gpu", "list").stdout.splitlines()
        equal(len(lines), 3, "lines of the table")
        if NESTED:
            equal({(j["gpu"], j["pid"]) for j in d.below.jobs()}, {(g["id"], g["worker_pid"]) for g in (first, second)},
                  "which worker is on which GPU below")


def test_a_gpu_by_its_uuid():
    """The software GPU cannot be selected by UUID. When nested, a worker gets the GPU below with this UUID, or none."""
    made = "GPU-73616c75-732d-736f-6674-2d6770752d0"
    with Two(text=f"[gpu 1]\ndevice_id = {made}1\n") as d:
        first, second = d.gpus()
        equal((first["uuid"], second["uuid"]), (made + "0", made + "1"), "UUIDs")
        equal((first["index"], second["index"]), ("0", "0") if NESTED else ("", ""), "indices")
    if not NESTED:
        return
    with Two(text=f"[gpu 1]\ndevice_id = {made}0\n", ready=1) as d:
        wait_for("what is wrong", lambda: f"no GPU has the UUID {made}0: the driver has 0: {made}1" in d.log())


def test_jobs_on_both_compute_what_they_compute_alone():
    with Daemon() as d:
        alone = d.checksum(TRAIN)
    with Two() as d:
        jobs = [d.start(TRAIN, SALUS_GPU=str(i % 2)) for i in range(4)]
        for p in jobs:
            out, err = p.communicate(timeout=PATIENCE)
            equal(checksum_of(subprocess.CompletedProcess(TRAIN, p.returncode, out, err), d), alone,
                  "checksum")
        equal(sorted(j["gpu"] for j in history(d, 4)), [0, 0, 1, 1], "GPUs of the history")


def test_words_and_events_say_the_same():
    with Two(text="[gpu 1]\ncompletion = events\n") as d:
        sums = [checksum_of(d.run_on(gpu, TRAIN), d) for gpu in (0, 1)]
        equal(sums[0], sums[1], "checksums")
    with Two(text="completion = auto\n[gpu 1]\ncompletion = auto\n") as d:
        equal(checksum_of(d.run_on(1, TRAIN), d), sums[0], "checksum")
        equal("event=completion-method fences_ns=" in d.log(), NESTED, "tried where it is a driver's")


def test_a_worker_that_is_killed_takes_its_own_jobs_alone():
    with Daemon() as d:
        alone = d.checksum([program("train"), "1000"])
    with Two("--recovery", "no") as d:
        lost = d.start(LONG, SALUS_GPU="0")
        kept = d.start([program("train"), "1000"], SALUS_GPU="1")
        wait_for("both run", lambda: all(n > 100 for n in launches(d).values()))
        os.kill(d.gpu(0)["worker_pid"], signal.SIGKILL)
        out, err = lost.communicate(timeout=PATIENCE)
        equal(lost.returncode != 0, True, "the job on GPU 0 ended well")
        out, err = kept.communicate(timeout=PATIENCE)
        equal(checksum_of(subprocess.CompletedProcess(LONG, kept.returncode, out, err), d), alone,
              "checksum of the job on GPU 1")
        wait_for("GPU 0 is back", lambda: d.gpu(0)["state"] == "ready")
        equal([g["worker_restarts"] for g in d.gpus()], [1, 0], "restarts")
        equal({j["gpu"]: j["how"] for j in history(d, 2)}, {0: "lost", 1: "done"}, "how they ended")
        equal(d.run_on(0, TRAIN).returncode, 0, "a job on GPU 0 after that")


def test_a_list_of_visible_gpus_chooses_one():
    """Lists of GPUs as Ray, Slurm, Kubernetes' plugins and shell loops set them, without knowing Salus."""
    with Two() as d:
        uuids = [g["uuid"] for g in d.gpus()]
        lists = (("0", 0), ("1", 1), ("1,0", 1), (" 1", 1), ("0,1", 0), (uuids[1], 1), (uuids[0] + "," + uuids[1], 0), ("1,7", 1))
        for count, (text, gpu) in enumerate(lists, 1):
            done = d.ctl("run", "-q", "--", *TRAIN, check=False, env=dict(os.environ, CUDA_VISIBLE_DEVICES=text))
            checksum_of(done, d)
            equal(max(history(d, count), key=lambda j: j["id"])["gpu"], gpu, f"CUDA_VISIBLE_DEVICES={text}")
        for text, why in (("7", "'7' begins with a GPU that salusd does not have (it has GPUs 0 to 1)"), ("1,1", "names a GPU twice"), (uuids[0][:12], "begins with a GPU that salusd does not have"),
                          ("MIG-1", "names a MIG instance, but Salus shares whole GPUs; name a GPU"), ("all", "neither a number nor a UUID")):
            done = d.run(TRAIN, CUDA_VISIBLE_DEVICES=text)
            equal(done.returncode != 0, True, f"CUDA_VISIBLE_DEVICES={text}")
            contains(done.stderr, why, "what the library says")
        for text in ("", "-1", "NoDevFiles"):
            done = d.run(TRAIN, CUDA_VISIBLE_DEVICES=text)
            equal(done.returncode != 0, True, f"CUDA_VISIBLE_DEVICES={text}")
            equal("what=" in done.stderr, False, f"nothing is said of CUDA_VISIBLE_DEVICES={text}")


def test_salus_gpu_stands_above_a_list():
    with Two() as d:
        for words, more in (((), {"SALUS_GPU": "0"}), (("--gpu", "0"), {})):
            for text in ("1", "7", "", "MIG-1"):
                env = dict(os.environ, CUDA_VISIBLE_DEVICES=text, **more)
                checksum_of(d.ctl("run", "-q", *words, "--", *TRAIN, check=False, env=env), d)
        job = d.run(TRAIN, SALUS_GPU="0", CUDA_VISIBLE_DEVICES="1")  # set within a command, as Ray does
        checksum_of(job, d)
        equal({j["gpu"] for j in history(d, 9)}, {0}, "GPUs")


def test_eight_jobs_spread_evenly():
    with Two() as d:
        jobs = [d.start(LONG) for _ in range(8)]
        wait_for("eight jobs", lambda: len(d.jobs()) == 8)
        wait_for("four jobs on each", lambda: [g["jobs"] for g in d.gpus()] == [4, 4])
        equal(sorted(j["gpu"] for j in d.jobs()), [0] * 4 + [1] * 4, "as the jobs say")
        table = d.ctl("job", "list").stdout.splitlines()
        contains(table[0], "  GPU  ", "the table's head")
        lanes = d.ctl_json("lane", "list")["lanes"]
        equal({lane["gpu"] for lane in lanes}, {0, 1}, "GPUs of the lanes")
        equal({lane["gpu"] for lane in d.ctl_json("lane", "list", "--gpu", "1")["lanes"]}, {1}, "lanes of one")
        picture = json.loads(d.ctl("top", "--json", "-n", "1").stdout.splitlines()[0])
        equal([g["id"] for g in picture["gpus"]], [0, 1], "GPUs of top")
        kill(d, *jobs)


def test_processes_of_one_run_stay_together():
    """The processes of a run may share memory by handles, so they get one GPU, whichever it is."""
    with Two() as d:
        busy = d.start(LONG, SALUS_GPU="0")
        wait_for("GPU 0 is taken", lambda: d.gpu(0)["jobs"] == 1)
        done = d.ctl("run", "-q", "--", program("ipc"), "3", check=False)
        equal(done.returncode, 0, done.stdout + done.stderr)
        kill(d, busy)
        equal({j["gpu"] for j in history(d, 3) if j["name"] == "ipc"}, {1}, "GPUs of its processes")


def test_policies_are_each_ones_own():
    with Two() as d:
        def lanes():
            return [d.ctl_json("policy", "show", "--gpu", str(i))["policy"]["lane"] for i in (0, 1)]

        equal(lanes(), ["fair", "fair"], "policies at first")
        d.ctl("policy", "set", "--gpu", "1", "--lane", "srtf", "max_lanes=3")
        equal(lanes(), ["fair", "srtf"], "after one was set")
        equal(d.ctl_json("policy", "show")["policy"]["gpu"], 0, "of which one without a number")
        d.ctl("policy", "set", "--kernel", "orion")
        shown = [d.ctl_json("policy", "show", "--gpu", str(i))["policy"] for i in (0, 1)]
        equal([(p["lane"], p["kernel"]) for p in shown], [("fair", "orion"), ("srtf", "orion")],
              "one for all leaves the rest as it is")
        chosen = [p["name"] for p in d.ctl_json("policy", "list", "--gpu", "1")["policies"] if p["chosen"]]
        equal(chosen, ["srtf", "orion", "open"], "policy list --gpu 1")
        os.kill(d.gpu(1)["worker_pid"], signal.SIGKILL)
        wait_for("GPU 1 is back", lambda: d.gpu(1)["worker_restarts"] == 1 and d.gpu(1)["state"] == "ready")
        equal(lanes(), ["fair", "srtf"], "its next worker has it too")
        for i in (0, 1):
            equal(d.run_on(i, TRAIN).returncode, 0, f"a job on GPU {i}")


def test_a_reload_is_of_each_one():
    with Two(text="[gpu 1]\nlane_policy = fifo\n") as d:
        path = os.path.join(d.run_dir, "salus.conf")
        with open(path) as f:
            text = f.read()
        with open(path, "w") as f:
            f.write(text.replace("fifo", "pack") + "sm_count = 4\n")
        d.process.send_signal(signal.SIGHUP)
        wait_for("GPU 1 has another policy", lambda: d.gpu(1)["lane_policy"] == "pack")
        equal((d.gpu(0)["lane_policy"], d.gpu(1)["sms"]), ("fair", 16), "the rest")
        wait_for("the log says so", lambda: "[gpu 1] sm_count = 4: applies after a restart" in d.log())


def test_there_is_no_seventh():
    with Two() as d:
        for number, why in (("7", "salusd has no GPU 7, only GPUs 0 to 1"),):
            done = d.run_on(number, TRAIN)
            equal(done.returncode, 6, "exit status")
            contains(done.stderr, why, "the reason")
        done = d.run(TRAIN, SALUS_GPU="7")
        equal(done.returncode != 0, True, "a job of a GPU that is not there")
        contains(done.stderr, "salusd has no GPU 7", "what the library says")
        for wrong in ("garbage", "-1", "1x", "1.5", "99999999999999999999"):
            done = d.run_on(wrong, TRAIN)
            equal((done.returncode, done.stdout), (2, ""), f"run --gpu {wrong}")
            contains(done.stderr, f"'{wrong}' is not the number of a GPU", "what salusctl says")
            done = d.run(TRAIN, SALUS_GPU=wrong)
            equal(done.returncode != 0, True, f"SALUS_GPU={wrong}")
            contains(done.stderr, f"SALUS_GPU: '{wrong}' is not the number of a GPU", "what the library says")
        for words in (("gpu", "show", "7"), ("policy", "show", "--gpu", "7"), ("lane", "list", "--gpu", "7"),
                      ("policy", "set", "--gpu", "7", "--lane", "fifo"), ("profile", "list", "--gpu", "7"),
                      ("gpu", "retry", "7")):
            done = d.ctl(*words, check=False)
            equal(done.returncode, 4, " ".join(words))
            contains(done.stderr, "salusd has no GPU 7", " ".join(words))
        equal(d.ctl("policy", "show", "--gpu", "x", check=False).returncode, 2, "policy show --gpu x")
        equal(d.jobs(), [], "jobs")


def test_one_that_does_not_start_stands_in_nobodys_way():
    with tempfile.TemporaryDirectory() as folder:
        worker = script(os.path.join(folder, "worker"),
                        f'case " $* " in *" --gpu 0 "*) exit 3 ;; esac\nexec {worker_in(folder)} "$@"\n')
        with Two("--worker", worker, "--worker-tries", "2", ready=1) as d:
            for _ in range(2):
                d.checksum(TRAIN)
            wait_for("GPU 0 is given up", lambda: d.gpu(0)["state"] == "failed")
            status = d.ctl_json("status")["status"]
            equal((status["state"], status["gpus_ready"]), ("ok", 1), "status")
            contains(status["trouble"], "GPU 0: ", "trouble")
            equal(d.ctl("status").returncode, 0, "exit status of status: jobs are served")
            done = d.run_on(0, TRAIN)
            equal(done.returncode != 0, True, "a job on GPU 0")
            contains(done.stderr, "salusd gave up on the GPU worker", "why")
            equal({j["gpu"] for j in history(d, 2) if j["how"] == "done"}, {1}, "GPUs")


def test_a_reader_sees_the_one_of_its_own():
    with Two(text="[gpu 1]\ndevice_memory = 512MiB\n") as d:
        def total(**env):
            done = d.run([READER], **env)
            equal(done.returncode, 0, done.stdout + done.stderr)
            return int(done.stdout.split("total=")[1].split()[0]) >> 20

        equal(total(), 1024, "the first")
        equal(total(SALUS_GPU="1"), 512, "that of SALUS_GPU")
        equal(total(SALUS_GPU="1", CUDA_VISIBLE_DEVICES="0"), 512, "that of SALUS_GPU")
        done = d.run([READER], SALUS_GPU="7")
        equal(done.returncode != 0, True, "one that is not there")


if __name__ == "__main__":
    sys.exit(run_tests(globals()))
