# SPDX-License-Identifier: Apache-2.0
"""The place of a trial, in the trial's own process. The scheduler stores it in Ray's key-value store before the process
exists; the process makes it its environment before the user's function begins."""
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
LIBC = ctypes.CDLL(None)  # loaded now: between fork and exec nothing may be loaded


def gpus():
    """Returns the numbers of this trial's GPUs. With several, the trial itself starts a process for each."""
    return [int(n) for n in os.environ.get(GPUS, "").split(",") if n]


def environment(gpu=None):
    """Returns the environment for a process of the trial that is to run on that GPU (None: the trial's first)."""
    env = dict(os.environ)
    if gpu is not None:
        env["SALUS_GPU"] = str(gpu)
    return env


def start(argv, gpu=None, **options):
    """Starts a program of the trial on that GPU; returns its subprocess.Popen. The program ends with the trial, even
    when the trial's process is killed. Linux ties it to the calling thread, which must be the trial's own or live as
    long."""
    return subprocess.Popen(argv, env=environment(gpu), preexec_fn=functools.partial(_end_with, os.getpid()), **options)


def _end_with(parent):
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)  # the parent ended before prctl()


def name_of(trial_id):
    """Returns the name of the trial's jobs in `salusctl job list`."""
    return f"fluid-{trial_id}"


def library_places(shim=None):
    tree = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
    places = [shim, os.environ.get("SALUS_LIB_DIR"), os.path.join(tree, os.environ.get("BUILD", "build"), "shim"),
              "/usr/local/lib/salus", "/usr/lib/salus"]
    return [os.path.abspath(p) for p in places if p]


def find_shim(shim=None):
    """Returns the folder of Salus's libcuda.so.1."""
    places = library_places(shim)
    found = next((p for p in places if os.path.exists(os.path.join(p, SHIM))), None)
    if not found:
        raise OSError(f"no {SHIM} of Salus is in {', '.join(places)}: install it with `make install`")
    return found


def describe(trial_id, gpus_of, weight, run_dir, shim):
    """Returns the place of a trial as JSON. A weight of 1 is not written: jobs have it by default."""
    first = {"SALUS_GPU": str(gpus_of[0]), "SALUS_JOB_NAME": name_of(trial_id), "SALUS_RUN_DIR": run_dir,
             GPUS: ",".join(map(str, gpus_of))}
    if weight > 1:
        first["SALUS_WEIGHT"] = str(weight)
    return json.dumps({"environment": first, "shim": shim})


def take(text):
    """Sets the environment of this process and its children from the text of describe()."""
    told = json.loads(text)
    os.environ.update(told["environment"])
    os.environ["CUDA_VISIBLE_DEVICES"] = "0"  # Ray hides all GPUs from a trial that requested none
    shim = told["shim"]
    for variable, value in (("LD_LIBRARY_PATH", shim), ("LD_PRELOAD", os.path.join(shim, SHIM))):
        had = [p for p in os.environ.get(variable, "").split(":") if p and p != value]
        os.environ[variable] = ":".join([value, *had])
    # From now on, a library of this process that loads libcuda.so.1 gets this one.
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
    """Makes the trainable of that name call take() first, if the scheduler stored a place in this session."""
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
