# SPDX-License-Identifier: Apache-2.0
"""Choices that depend on a seed only, in every version of Python."""
import random


class Dice:
    """Uses only random(), the one method of the module whose sequence is guaranteed to stay the same."""

    def __init__(self, seed):
        self._random = random.Random(str(seed))

    def chance(self, probability):
        return self._random.random() < probability

    def below(self, n):
        return int(self._random.random() * n)

    def between(self, low, high):
        return low + self.below(high - low + 1)

    def pick(self, items):
        return items[self.below(len(items))]

    def weighted(self, table):
        """Draws a key of {key: weight}."""
        at = self._random.random() * sum(table.values())
        for key, weight in table.items():
            at -= weight
            if at < 0:
                return key
        return key
