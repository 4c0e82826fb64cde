# SPDX-License-Identifier: Apache-2.0
"""The GPUs and jobs of this machine's salusd, as far as a tuning job needs them: which GPUs exist, and the weights of
its trials' jobs. Asks salusd from time to time; when salusd does not answer, asks again later."""
import logging
import os
import time
from collections import namedtuple

from . import control, seat

logger = logging.getLogger(__name__)

# serves: salusd has not given the GPU up, though its worker may be only starting; ready: it takes jobs now; worker:
# (process, number of restarts), where the number begins anew when salusd restarts.
Gpu = namedtuple("Gpu", "serves ready worker")

WEIGHT_MOST = 1000
STEPS, STEPS_LEAST = 100, 10  # STEPS steps of a weight, at least STEPS_LEAST: smaller changes are not worth a request


class Machine:
    def __init__(self, run_dir=None, every_s=0.5, clock=time.monotonic):
        self.control = control.Control(run_dir)
        self.run_dir, self.every_s, self.clock = self.control.run_dir, every_s, clock
        self.asked_s, self.found = None, {}  # the time of look()'s latest request; the answer of gpus()
        self.weights_set = 0  # weights set while the job runs
        self.weight_most = self._weight_most()  # 1: its trials have no weights

    def close(self):
        self.control.close()

    def _weight_most(self):
        """Returns the largest weight that salus.conf(5) allows this user; salusd refuses a job that wants more."""
        own = next((u for u in self.control.list("user.list") if u["uid"] == os.geteuid()), {"max_weight": 1})
        return WEIGHT_MOST if own["max_weight"] is None else min(own["max_weight"], WEIGHT_MOST)

    def gpus(self):
        """Returns {number: Gpu}."""
        self.found = {n: Gpu(g["state"] != "failed", g["state"] == "ready", (g["worker_pid"], g["worker_restarts"]))
                      for n, g in self.control.gpus().items()}
        return self.found

    def look(self, weights):
        """Returns the GPUs like gpus() and sets the weights ({trial id: weight}) of jobs that have others. When salusd
        does not answer, no GPU is ready. None: it is too early to ask again."""
        now = self.clock()
        if self.asked_s is not None and now - self.asked_s < self.every_s:
            return None
        self.asked_s = now
        try:
            found = self.gpus()
            self._weigh(weights)
            return found
        except OSError:
            return self._again()

    def _weigh(self, weights):
        wanted = {seat.name_of(trial): weight for trial, weight in weights.items()}
        for job in self.control.jobs() if wanted else ():
            weight = wanted.get(job["name"])
            if weight is not None and weight != job["weight"] and not self._set(job["id"], weight):
                return

    def _set(self, job, weight):
        """Returns False when salusd no longer permits it; from then on no trial has a weight."""
        try:
            self.weights_set += self.control.set_weight(job, weight)
        except control.Refused as why:
            if why.code != "not_permitted":
                raise
            logger.warning("Fluid no longer sets the weights of trials: %s", why)
            self.weight_most = 1
            return False
        return True

    def _again(self):
        self.control.close()
        try:
            self.control = control.Control(self.run_dir)
        except OSError:
            pass
        return {number: gpu._replace(ready=False) for number, gpu in self.found.items()}


def weights(plan, highest):
    """Returns {trial: 1 to `highest`} for a plan's trials that share a GPU. The weights follow what is left of each
    trial, so that those of one GPU end together and a straggler gets more. Each is at least a tenth of the longest
    one's. A trial alone on its GPUs has no weight."""
    if highest == 1:
        return {}
    most = {}
    for place in plan.values():
        if place.gpus and place.share < 1:
            most[place.gpus[0]] = max(most.get(place.gpus[0], 0), place.left_s)
    found = {}
    for name, place in plan.items():
        if place.gpus and place.share < 1:
            part = place.left_s / most[place.gpus[0]]
            found[name] = max(round(highest * max(round(STEPS * part), STEPS_LEAST) / STEPS), 1)
    return found
