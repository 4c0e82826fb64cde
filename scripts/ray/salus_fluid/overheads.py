# SPDX-License-Identifier: Apache-2.0
"""What packing and scaling cost, from the times of iterations of the trials themselves (thesis, section 3.5):
a trial is compared with itself in other company, and the mean of these ratios is taken for all trials, since
"trials of the same hyperparameter tuning job are similar to each other" (section 3.4.2.2)."""
import math

from . import library

SAMPLES = 2  # iterations of a trial in one company that are a measurement; the median of them counts


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

    def means(self):
        """[1, mean with two, ...] as far as they are known without a gap."""
        found = [1.0]
        while any(self.time(t, 1) for t in self.times):
            ratio = self.step(len(found), len(found) + 1)
            if ratio is None:
                return found
            found.append(found[-1] * ratio)
        return []


class Packing:
    """c and alpha. One more trial a GPU is tried as long as the last one was worth it (3.1)."""

    def __init__(self, lib, most, threshold):
        self.lib, self.most, self.threshold = lib, most, threshold
        self.ladder = Ladder()
        self.c, self.alpha, self.settled = 1, 1.0, most == 1

    def add(self, trial, company, seconds):
        self.ladder.add(trial, company, seconds)

    def look(self):
        """True when c or alpha is another one than before."""
        means = self.ladder.means()
        if self.settled or len(means) < self.c:
            return False
        c = self.c
        if c > 1 and self.lib.salus_fluid_benefit(c, means[c - 1], means[c - 2]) <= self.threshold:
            self.c, self.settled = c - 1, True
        elif c < self.most:
            self.c = c + 1
        else:
            self.settled = True
        self.alpha = self._alpha(means[:self.c])
        return True

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
