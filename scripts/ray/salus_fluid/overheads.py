# SPDX-License-Identifier: Apache-2.0
"""The costs of packing and scaling, measured from the trials' own iterations (thesis, section 3.5). A trial is compared
with itself in other company. The mean of these ratios holds for all trials, since "trials of the same hyperparameter
tuning job are similar to each other" (section 3.4.2.2)."""
import math
from collections import Counter

from . import library

SAMPLES = 3  # iterations of a trial in one company that make a measurement; their median counts


def companies(placed, up):
    """Returns {trial: (its GPUs, trials on them)} for trials of a plan that have GPUs (planner.placed), if all trials
    there are `up`, that is, have made an iteration. Starting a trial takes longer than several iterations of its
    neighbours, which meanwhile have the GPU to themselves."""
    on = Counter(place.gpus[0] for place in placed.values())
    starting = {place.gpus[0] for name, place in placed.items() if not up(name)}
    return {name: (tuple(place.gpus), on[place.gpus[0]]) for name, place in placed.items() if place.gpus[0] not in starting}


class Ladder:
    """Times with 1, 2, ... of something (trials on a GPU, GPUs of a trial), relative to that with one."""

    def __init__(self):
        self.times = {}  # {trial: {number: [s]}}

    def add(self, trial, count, seconds):
        self.times.setdefault(trial, {}).setdefault(count, []).append(seconds)

    def time(self, trial, count):
        """Returns the trial's median time with that number; None: not measured."""
        found = sorted(self.times.get(trial, {}).get(count, []))
        return found[len(found) // 2] if len(found) >= SAMPLES else None

    def step(self, below, above):
        """Returns by which factor iterations are longer with `above` than with `below`; None: no trial had both."""
        pairs = [(self.time(t, below), self.time(t, above)) for t in self.times]
        logs = [math.log(b / a) for a, b in pairs if a and b]
        return math.exp(sum(logs) / len(logs)) if logs else None

    def has(self, count):
        return any(self.time(t, count) for t in self.times)


class Packing:
    """c and alpha. The number of trials per GPU doubles as long as the last doubling was worth it (3.1), since starting
    a trial takes far longer than measuring it, and each rung costs a start. Two are tried before four, so that a
    mistake stays small. Between two rungs, times are taken to grow by the same factor."""

    def __init__(self, lib, most, threshold):
        self.lib, self.most, self.threshold = lib, most, threshold
        self.ladder = Ladder()
        self.c, self.alpha, self.settled = 1, 1.0, most == 1
        self.means = []  # times with 1, 2, ... trials, relative to that with one

    def add(self, trial, company, seconds):
        self.ladder.add(trial, company, seconds)

    def look(self):
        """Returns True when c or alpha has changed."""
        if self.settled or not self._measure():
            return False
        worth = self.lib.salus_fluid_packed_most((library.DOUBLE * self.c)(*self.means), self.c, self.threshold)
        self.settled = worth < self.c or self.c == self.most
        self.c = worth if self.settled else min(2 * self.c, self.most)
        self.alpha = self._alpha(self.means[:worth])
        return True

    def _measure(self):
        """Returns False when there are no times with c yet."""
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
        """Limits alpha so that the library never takes fewer trials than were found to be worth it (lemma 4)."""
        limit = math.inf if self.c == 1 else self.c / (self.c - 1) - 1e-9
        return min(max(library.overhead(self.lib.salus_fluid_alpha, means), 1.0), limit)


class Scaling:
    """beta, 1 until it is measured. The user gives d, and the library decides what is worth it."""

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
