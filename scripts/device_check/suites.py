# SPDX-License-Identifier: Apache-2.0
"""Existing tests, run on this device; the frameworks that are installed; a worker that is killed."""
import os
import signal
import sys
import time

import device_check.figures as figures
import device_check.machine as machine
import device_check.processes as processes
from device_check.processes import value
from device_check.ways import ROOT, NotHere, harness, plain_environment

SUITE = os.path.join(ROOT, "test", "e2e")
# The part of each suite that --reduced runs.
FEW = {"results/run_e2e.py": ["jobs_are_listed"], "faults/run_ending.py": []}


def outcomes(lines):
    """Returns {test: ok, failed or skipped} from the output of run_tests()."""
    found = {}
    for line in lines:
        word, _, rest = line.partition(" ")
        if word in ("ok", "FAIL", "SKIPPED") and rest.strip().startswith("test_"):
            found[rest.split()[0].rstrip(":")] = {"ok": "ok", "FAIL": "failed", "SKIPPED": "skipped"}[word]
    return found


def suite(check, part, name, what, most):
    if not check.device:
        raise NotHere("this salusd has no device for the GPU yet")
    few = FEW[name] if check.small else []
    if check.small and not few:
        part.row(f"{what}: not among what is small", None)
        return
    env = plain_environment(SALUS_TEST_PATIENCE="60", PYTHONUNBUFFERED="1", BUILD=os.path.relpath(harness.BUILD, ROOT))
    if not harness.NESTED:
        env["SALUS_DEVICE"] = check.device
    process = processes.Process([sys.executable, os.path.join(SUITE, name), *few], env, ROOT)
    status = process.wait(check.seconds(most))
    found = outcomes(process.out)
    part.found(name, found)
    failed = sorted(t for t, how in found.items() if how == "failed")
    if failed:
        part.found(f"{name}, output", process.out[-600:])
    if not found:
        part.row(f"{what}: failed", None, note=f"nothing ran, status {status}: {' '.join(process.err[-3:])}")
        return
    part.row(f"{what}: passed", sum(how == "ok" for how in found.values()), note=None if status is not None else "ended early")
    part.row(f"{what}: failed", len(failed), note=" ".join(failed)[:300] or None)


def e2e(check, part):
    suite(check, part, "results/run_e2e.py", "end to end", 420)


# ---- faults -------------------------------------------------------------------------------------------------

def first_kernel_done(check, way, seconds):
    """Returns the seconds of a small program from its start to its end."""
    begin, end = time.monotonic(), time.monotonic() + seconds
    while time.monotonic() < end:
        if check.work(way, "launch", (1, 10), 60)["how"] == "answered":
            return time.monotonic() - begin
        time.sleep(0.01)
    return None


def worker_killed(check, part):
    """Measures how long it takes after a fault until jobs are served again, minus the usual time of a job."""
    took = []
    with check.salus("salus") as way:
        several = [first_kernel_done(check, way, 60) for _ in range(3)]
        usual = None if None in several else min(several)
        for _ in range(check.sized(5, 1)):
            pid = way.worker()
            if pid is None or usual is None:
                part.row("worker killed: jobs served again", None, note="there is no worker to kill")
                return
            os.kill(pid, signal.SIGKILL)
            again = first_kernel_done(check, way, 60)
            if again is None:
                part.row("worker killed: jobs served again", None, note="never within 60 s")
                return
            took.append(max(again - usual, 0))
    part.row("worker killed: jobs served again", max(took), "s", spread=(min(took), max(took)),
             note=f"of a job that takes {usual:.2f} s itself")


def faults(check, part):
    figures.bystanders(check, part)
    worker_killed(check, part)
    suite(check, part, "faults/run_ending.py", "endings", 240)


# ---- frameworks ------------------------------------------------------------------------------------------------

TORCH = r"""
import sys, time, hashlib, json
import torch
steps = int(sys.argv[1])
torch.manual_seed(1)
torch.use_deterministic_algorithms(True)
model = torch.nn.Sequential(torch.nn.Linear(256, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 1024), torch.nn.ReLU(),
                            torch.nn.Linear(1024, 10)).cuda()
x, y = torch.randn(512, 256).cuda(), torch.randint(0, 10, (512,)).cuda()
opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
least = 1e9
for i in range(steps):
    torch.cuda.synchronize()
    begin = time.perf_counter()
    opt.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(x), y)
    loss.backward()
    opt.step()
    torch.cuda.synchronize()
    least = min(least, time.perf_counter() - begin)
h = hashlib.sha256()
for p in model.parameters():
    h.update(p.detach().cpu().numpy().tobytes())
print(json.dumps({"probe": "torch", "question": "", "answer": f"loss {loss.item():.6f}", "ok": True, "figures": {
    "checksum": h.hexdigest()[:16], "step": {"value": least * 1e6, "unit": "us"}}}))
"""


def torch(check, part):
    version = machine.version_of("torch")
    if not version:
        part.row("torch", None, note="is not on this machine")
        return
    script = [sys.executable, "-c", TORCH, str(check.sized(200, 5))]
    runs = {"native": [], "salus": []}
    with check.native() as native, check.salus("salus") as salus:
        for _ in range(check.sized(3, 1)):
            for way in (native, salus):
                # Loads kernels lazily, as by default: eager loading loads all kernels of all libraries with the first
                # context.
                env = dict(way.environment(persistent="4GiB"), CUBLAS_WORKSPACE_CONFIG=":4096:8", CUDA_MODULE_LOADING="LAZY")
                runs["native" if way is native else "salus"].append(processes.ask(script, env, check.seconds(180)))
                part.found("torch", runs)
    sums = {r.get("figures", {}).get("checksum") for rs in runs.values() for r in rs}
    part.row("training under torch: checksum", "equal" if len(sums) == 1 and None not in sums else "different",
             note=f"torch {version}; {[r['answer'] for rs in runs.values() for r in rs][:2]}")
    steps = {k: [v for v in (value(r, "step") for r in rs) if v] for k, rs in runs.items()}
    if steps["native"] and steps["salus"]:
        part.row("training under torch: time a step against native", min(steps["salus"]) / min(steps["native"]),
                 note=f"least {min(steps['salus']):.0f} and {min(steps['native']):.0f} us")


def frameworks(check, part):
    torch(check, part)
