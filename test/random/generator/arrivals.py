# SPDX-License-Identifier: Apache-2.0
"""Statements in which all threads of a block synchronize by barriers in shared memory, and wait for copies."""
from generator.tree import Block

RULES = {"tokens": 2, "some_arrive": 2, "drop": 1, "for_several": 1, "phases": 2, "groups": 3, "arriving_copies": 2,
         "bulk": 2}


class Arrivals:
    def __init__(self, together, threads):
        self.together, self.threads = together, threads
        self.dice = together.dice
        self.context = together.context

    def statement(self, block):
        target = self.together.statements.target(("u32", "u64", "i32"))
        if not target:
            return
        inner = Block()
        self.context.spend(40)
        getattr(self, self.dice.weighted(RULES))(inner, target)
        block.add(inner)

    def number(self, depth=2):
        return self.together.grow("u32", depth)

    def barrier(self, block, count):
        """A new barrier that expects `count` arrivals; all threads see it."""
        name = self.context.fresh("bar")
        block.add(f"SHARED u64 {name};")
        block.add(f"if (t == 0) bar_init(&{name}, {count}); sync_block();")
        return name

    def end(self, block, bar):
        block.add(f"sync_block(); if (t == 0) bar_inval(&{bar}); sync_block();")

    def words(self, block, count):
        name = self.context.fresh("s")
        block.add(f"alignas(16) SHARED u32 {name}[{count}];")
        return name

    def take(self, block, target, words, *index):
        block.add(f"{target[0]} = ({target[1]})({target[0]} ^ {words}[", *index, "]);")

    def meeting(self, block, target, count, meet, among, alone="false"):
        """Each thread writes its own word, all meet, each reads the word of one of the first `among`; a thread
        without others reads its own."""
        s, bar = self.words(block, self.threads), self.barrier(block, count)
        block.add(f"{s}[t] = ", self.number(), ";")
        block.add(meet.format(bar=bar))
        self.take(block, target, s, f"{alone} ? t : (", self.number(), f") % {among}u")
        self.end(block, bar)

    def tokens(self, block, target):
        self.meeting(block, target, f"{self.threads}u", "meet_by_token(&{bar});", self.threads)

    def some_arrive(self, block, target):
        n = self.dice.between(1, self.threads)
        self.meeting(block, target, f"{n}u", f"meet_by_parity(&{{bar}}, t < {n}u, 0);", n)

    def drop(self, block, target):
        drops = self.dice.pick(("(t & 1u) != 0", "t > 2u", "(t & 7u) == 5u", "false"))
        self.meeting(block, target, f"{self.threads}u", f"meet_and_drop(&{{bar}}, {drops});", self.threads, drops)

    def for_several(self, block, target):
        self.meeting(block, target, f"{2 * self.threads}u", f"meet_by_count(&{{bar}}, t, {self.threads}u);", self.threads)

    def phases(self, block, target):
        """Several phases of one barrier, alternating between two buffers."""
        s, bar, k = self.words(block, 2 * self.threads), self.barrier(block, f"{self.threads}u"), self.context.fresh("at")
        body, n = Block(), self.dice.between(2, 5)
        saved, self.context.trips = self.context.trips, self.context.trips * n
        body.add(f"{s}[({k} & 1u) * {self.threads}u + t] = ", self.number(), ";")
        body.add(f"meet_by_parity(&{bar}, true, {k} & 1u);")
        self.take(body, target, s, f"({k} & 1u) * {self.threads}u + ", self.number(), f" % {self.threads}u")
        self.context.trips = saved
        block.add(f"for (u32 {k} = 0; {k} < {n}u; ++{k}) ", body)
        self.end(block, bar)

    def copy(self, block, to, bytes_):
        """Copies some words of the input, sometimes only a part of them."""
        given = [str(bytes_)] if self.dice.chance(0.5) else ["(", self.number(1), f" % {bytes_ + 1}u)"]
        block.add(f"copy_async<{bytes_}>(&{to}[t * 4u], in + (", self.number(), f" & {1024 - 4}u), ", *given, ");")

    def zeroed(self, block):
        """Four words for each thread; every word belongs to a thread."""
        s = self.words(block, 4 * self.threads)
        block.add(f"for (u32 k = 0; k < 4u; ++k) {s}[t * 4u + k] = k;")
        return s

    def groups(self, block, target):
        """Two copies of each thread, awaited one after the other."""
        one, other = self.zeroed(block), self.zeroed(block)
        self.copy(block, one, self.dice.pick((4, 8, 16)))
        block.add("copies_commit();")
        self.copy(block, other, self.dice.pick((4, 8, 16)))
        block.add("copies_commit();")
        for words, left in ((one, 1), (other, 0)):
            block.add(f"copies_wait<{left}>(); sync_block();")
            self.take(block, target, words, self.number(), f" % {4 * self.threads}u")
        block.add("sync_block();")

    def arriving_copies(self, block, target):
        s, bar = self.zeroed(block), self.barrier(block, f"{self.threads}u")
        self.copy(block, s, self.dice.pick((4, 8, 16)))
        block.add(f"copies_arrive(&{bar}); bar_join(&{bar}, 0);")
        self.take(block, target, s, self.number(), f" % {4 * self.threads}u")
        self.end(block, bar)

    def bulk(self, block, target):
        n = 4 * self.dice.between(1, 64)
        s, bar = self.words(block, n), self.barrier(block, "1u")
        block.add(f"if (t == 0) copy_bulk({s}, in + (", self.together.uniform(None), f" & 508u), {4 * n}u, &{bar});")
        block.add(f"bar_join(&{bar}, 0);")
        self.take(block, target, s, self.number(), f" % {n}u")
        self.end(block, bar)
