# SPDX-License-Identifier: Apache-2.0
"""Where a trial runs, in the trial's own process: told by the scheduler through Ray's key-value store before
the process is there, and made the process's environment before the user's function begins."""
import ctypes
import functools
import json
import os
import signal
import subprocess

PREFIX = "salus-fluid:"
SHIM = "libcuda.so.1"
GPUS = "SALUS_FLUID_GPUS"
PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None)  # before there is a process between fork and exec, where nothing may be loaded


def gpus():
    """Numbers of this trial's GPUs; several: a process on each is the trial's affair."""
    return [int(n) for n in os.environ.get(GPUS, "").split(",") if n]


def environment(gpu=None):
    """Variables for a process of the trial that is to run on that GPU (None: the trial's first)."""
    env = dict(os.environ)
    if gpu is not None:
        env["SALUS_GPU"] = str(gpu)
    return env


def start(argv, gpu=None, **options):
    """subprocess.Popen of a program of the trial on that GPU. It ends with the trial, however that ends: also
    when the trial's process is killed. To Linux that is the thread that calls this: it is to be the trial's own,
    or one that lives as long."""
    return subprocess.Popen(argv, env=environment(gpu), preexec_fn=functools.partial(_end_with, os.getpid()), **options)


def _end_with(parent):
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)  # it ended before that was asked for


def name_of(trial_id):
    """Its jobs', as `salusctl job list` has them."""
    return f"fluid-{trial_id}"


def library_places(shim=None):
    tree = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
    places = [shim, os.environ.get("SALUS_LIB_DIR"), os.path.join(tree, os.environ.get("BUILD", "build"), "shim"),
              "/usr/local/lib/salus", "/usr/lib/salus"]
    return [os.path.abspath(p) for p in places if p]


def find_shim(shim=None):
    """The folder of Salus's libcuda.so.1."""
    places = library_places(shim)
    found = next((p for p in places if os.path.exists(os.path.join(p, SHIM))), None)
    if not found:
        raise OSError(f"there is no {SHIM} of Salus in {', '.join(places)}")
    return found


def describe(trial_id, gpus_of, weight, run_dir, shim):
    """What a trial is told. A weight of 1 is what a job has of which none is said."""
    first = {"SALUS_GPU": str(gpus_of[0]), "SALUS_JOB_NAME": name_of(trial_id), "SALUS_RUN_DIR": run_dir,
             GPUS: ",".join(map(str, gpus_of))}
    if weight > 1:
        first["SALUS_WEIGHT"] = str(weight)
    return json.dumps({"environment": first, "shim": shim})


def take(text):
    """Of what was told: this process's environment, and that of what it starts."""
    told = json.loads(text)
    os.environ.update(told["environment"])
    os.environ["CUDA_VISIBLE_DEVICES"] = "0"  # Ray hides GPUs of which a trial asked none
    shim = told["shim"]
    for variable, value in (("LD_LIBRARY_PATH", shim), ("LD_PRELOAD", os.path.join(shim, SHIM))):
        had = [p for p in os.environ.get(variable, "").split(":") if p and p != value]
        os.environ[variable] = ":".join([value, *had])
    # Who loads libcuda.so.1 in this process from now on finds the one that is there.
    ctypes.CDLL(os.path.join(shim, SHIM), mode=ctypes.RTLD_GLOBAL)


# ---- through Ray ---------------------------------------------------------------------------------

def put(session, trial_id, text):
    from ray.experimental.internal_kv import _internal_kv_put
    _internal_kv_put(f"{PREFIX}{session}:{trial_id}", text.encode(), overwrite=True)


def forget(session, trial_id):
    from ray.experimental.internal_kv import _internal_kv_del
    _internal_kv_del(f"{PREFIX}{session}:{trial_id}")


def get(session, trial_id):
    from ray.experimental.internal_kv import _internal_kv_get
    return _internal_kv_get(f"{PREFIX}{session}:{trial_id}")


def wrap(name, session):
    """The trainable of that name takes its seat first, where it was told one in this session."""
    from ray.tune.registry import get_trainable_cls, register_trainable
    base = get_trainable_cls(name)
    base = getattr(base, "unseated", base)

    class Seated(base):
        unseated = base

        def setup(self, config):
            told = get(session, self.trial_id)
            if told:
                take(told)
            super().setup(config)

    Seated.__name__ = base.__name__
    register_trainable(name, Seated)
