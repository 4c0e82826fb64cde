# SPDX-License-Identifier: Apache-2.0
"""What packing and scaling cost, from the times of iterations of the trials themselves (thesis, section 3.5):
a trial is compared with itself in other company, and the mean of these ratios is taken for all trials, since
"trials of the same hyperparameter tuning job are similar to each other" (section 3.4.2.2)."""
import math
from collections import Counter

from . import library

SAMPLES = 3  # iterations of a trial in one company that are a measurement; the median of them counts


def companies(placed, up):
    """{trial: (its GPUs, trials on them)} of a plan's trials that have GPUs (planner.placed), as far as all that are
    there are `up`, that is, have made an iteration: to start one takes longer than several iterations of those beside
    it, who still have the GPU to themselves."""
    on = Counter(place.gpus[0] for place in placed.values())
    starting = {place.gpus[0] for name, place in placed.items() if not up(name)}
    return {name: (tuple(place.gpus), on[place.gpus[0]]) for name, place in placed.items() if place.gpus[0] not in starting}


class Ladder:
    """Times with 1, 2, ... of something (trials on a GPU, GPUs of a trial), as parts of that with one."""

    def __init__(self):
        self.times = {}  # {trial: {how many: [s]}}

    def add(self, trial, count, seconds):
        self.times.setdefault(trial, {}).setdefault(count, []).append(seconds)

    def time(self, trial, count):
        """None where it was not measured."""
        found = sorted(self.times.get(trial, {}).get(count, []))
        return found[len(found) // 2] if len(found) >= SAMPLES else None

    def step(self, below, above):
        """How many times as long iterations take with `above` as with `below`; None: nobody had both."""
        pairs = [(self.time(t, below), self.time(t, above)) for t in self.times]
        logs = [math.log(b / a) for a, b in pairs if a and b]
        return math.exp(sum(logs) / len(logs)) if logs else None

    def has(self, count):
        return any(self.time(t, count) for t in self.times)


class Packing:
    """c and alpha. Twice as many trials a GPU are tried as long as the last of those that are there was worth it (3.1):
    to start one takes far longer than to measure it, and each rung costs a start. Two are tried before four, so that
    company that is a mistake is a small one. Between two rungs times are taken to grow by the same factor."""

    def __init__(self, lib, most, threshold):
        self.lib, self.most, self.threshold = lib, most, threshold
        self.ladder = Ladder()
        self.c, self.alpha, self.settled = 1, 1.0, most == 1
        self.means = []  # with 1, 2, ... trials, as parts of that with one

    def add(self, trial, company, seconds):
        self.ladder.add(trial, company, seconds)

    def look(self):
        """True when c or alpha is another one than before."""
        if self.settled or not self._measure():
            return False
        worth = self.lib.salus_fluid_packed_most((library.DOUBLE * self.c)(*self.means), self.c, self.threshold)
        self.settled = worth < self.c or self.c == self.most
        self.c = worth if self.settled else min(2 * self.c, self.most)
        self.alpha = self._alpha(self.means[:worth])
        return True

    def _measure(self):
        """False: there are no times yet with c."""
        below = len(self.means)
        if not below:
            self.means = [1.0] if self.ladder.has(1) else []
            return bool(self.means)
        ratio = self.ladder.step(below, self.c)
        if ratio:
            steps = self.c - below
            self.means += [self.means[-1] * ratio ** (n / steps) for n in range(1, steps + 1)]
        return bool(ratio)

    def _alpha(self, means):
        """Never so large that the library would take fewer than were found to be worth it (lemma 4)."""
        limit = math.inf if self.c == 1 else self.c / (self.c - 1) - 1e-9
        return min(max(library.overhead(self.lib.salus_fluid_alpha, means), 1.0), limit)


class Scaling:
    """beta, 1 until it is measured; d is the user's word, and what the library takes for worth it."""

    def __init__(self, lib, most):
        self.lib, self.most = lib, most
        self.ladder = Ladder()
        self.beta = 1.0

    def add(self, trial, width, seconds):
        self.ladder.add(trial, width, seconds)

    def look(self):
        pairs = [(w, self.ladder.step(1, w)) for w in range(2, self.most + 1)]
        betas = [(w * ratio) ** (1 / (w - 1)) for w, ratio in pairs if ratio]
        before = self.beta
        if betas:
            self.beta = min(max(sum(betas) / len(betas), 1.0), 1000.0)
        return self.beta != before
