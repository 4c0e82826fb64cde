# SPDX-License-Identifier: Apache-2.0
"""Statements that the threads of a warp or a block execute together.

All lanes of the mask reach such a statement, the same number of times; every condition on the way is uniform."""
from generator.arrivals import Arrivals
from generator.matrices import Matrices
from generator.scalars import INTS, REALS
from generator.statements import Statements
from generator.tree import Block, Expr

WARP_RULES = {"vote": 3, "shuffle": 5, "match": 1, "reduce": 3, "part": 2, "common_branch": 2, "common_loop": 2,
              "leaving_loop": 2, "apart": 3, "matrix": 6}
BLOCK_RULES = {"exchange": 4, "tree": 1, "block_vote": 2, "shared_atomics": 2, "common_branch": 1,
               "common_loop": 1, "through_dynamic": 1, "arrival": 6}
SHUFFLED = ("u32", "i32", "u64", "i64", "f32", "f64")


class Together:
    def __init__(self, context, kind, threads, body):
        self.context, self.kind, self.threads = context, kind, threads
        self.dice = context.dice
        self.statements = Statements(context)
        self.matrices = Matrices(self, 0 if kind == "alone" else threads, body)
        self.arrivals = Arrivals(self, threads)
        # Expressions that are the same in all threads of the block, and others that are the same in all of a warp.
        self.block_uniform = ["pm.c", "(u32)ph", "blk", "(u32)pb", "(u32)salt", "in[5]"]
        self.warp_uniform = []
        for k in range(2):
            name = context.fresh("w")
            body.add(f"u32 {name} = {k}u;")
            context.know("u32", name)
            self.warp_uniform.append(name)
        if kind == "warp":
            body.add("u32 here = full;")
            self.mask = "here"
        else:
            self.mask = "full"

    def statement(self, block, mask, depth):
        """`mask`: "full" where the whole block is converged, else the lanes that are."""
        if mask == "full":
            mask = self.mask
            if self.kind == "block" and self.dice.chance(0.55):
                getattr(self, self.dice.weighted(BLOCK_RULES))(block, None, depth)
                return
            if self.kind == "warp" and self.dice.chance(0.12):
                self.exit(block)
                return
        getattr(self, self.dice.weighted(WARP_RULES))(block, mask, depth)

    def grow(self, t, depth=2):
        return self.statements.grow(t, depth)

    def uniform(self, mask):
        """A number that is the same in all threads that reach the statement."""
        names = self.block_uniform + (self.warp_uniform if mask == self.mask else [])
        a, b = self.dice.pick(names), self.dice.pick(names)
        op = self.dice.pick("+-^&|")
        return Expr("uniform", f"({a} {op} ({b} >> {self.dice.below(9)}u))")

    def put(self, block, t, *value):
        """Assigns to a variable of the type, or discards the value if there is none."""
        target = self.statements.target((t,))
        block.add(*([f"{target[0]} = "] if target else ["(void)"]), *value, ";")

    # ---- lanes of a warp ----

    def vote(self, block, mask, depth):
        f = self.dice.pick(("ballot", "ballot", "vote_any", "vote_all"))
        value = [f"{f}({mask}, ", self.grow("bool"), ")"]
        if mask == self.mask and self.dice.chance(0.4):
            block.add(f"{self.dice.pick(self.warp_uniform)} = ", *value, ";")
        else:
            self.put(block, "u32", *value)

    def shuffle(self, block, mask, depth):
        t, mode = self.dice.pick(SHUFFLED), self.dice.pick(("idx", "idx", "up", "down", "xor"))
        width = self.dice.pick((32, 32, 32, 16, 8))
        if mode == "idx" and self.dice.chance(0.6):
            by = [f"lane_of({mask}, ", self.grow("u32", 1), ")"]
        elif mode == "idx":
            by = ["(", self.grow("u32", 1), " & 31u)"]
        else:
            by = [f"{self.dice.between(0, 31)}u"] if self.dice.chance(0.7) else ["(", self.uniform(mask), " & 31u)"]
        self.put(block, t, f"shuffle_{mode}({mask}, lane, ({t})", self.grow(t), ", ", *by, f", {width}u)")

    def match(self, block, mask, depth):
        f = self.dice.pick(("match_any", "match_any_narrow", "match_all"))
        few = self.dice.pick(("& 3u", "& 7u", "& 0u"))
        self.put(block, "u32", f"{f}({mask}, (", self.grow("u32"), f" {few}))")

    def reduce(self, block, mask, depth):
        op = self.dice.pick(("add", "and", "or", "xor", "min", "max", "smin", "smax"))
        t = "i32" if op[0] == "s" else "u32"
        value = [f"reduce_{op}({mask}, ", self.grow(t), ")"]
        if mask == self.mask and t == "u32" and self.dice.chance(0.3):
            block.add(f"{self.dice.pick(self.warp_uniform)} = ", *value, ";")
        else:
            self.put(block, t, *value)

    def part(self, block, mask, depth):
        """Lanes take two branches; the lanes of each stay converged."""
        if depth <= 0:
            return
        p, m = self.context.fresh("p"), self.context.fresh("m")
        one, other = Block(), Block()
        for side, name in ((one, m), (other, f"({mask} & ~{m})")):
            for _ in range(self.dice.between(1, 2)):
                self.statement_within(side, name, depth - 1)
        block.add(f"{{ const bool {p} = ", self.grow("bool"), f"; const u32 {m} = ballot({mask}, {p}); if ({p}) ",
                  one, " else ", other, " }")

    def statement_within(self, block, mask, depth):
        if self.dice.chance(0.5):
            getattr(self, self.dice.weighted(WARP_RULES))(block, mask, depth)
        else:
            self.statements.statement(block, 1)

    def matrix(self, block, mask, depth):
        if self.matrices.rules:
            self.matrices.statement(block, mask)
        else:
            self.shuffle(block, mask, depth)

    def apart(self, block, mask, depth):
        self.statements.statement(block, 2)

    def leaving_loop(self, block, mask, depth):
        """Lanes leave one after the other; the remaining lanes stay converged."""
        if depth <= 0:
            return
        i, m, p = self.context.fresh("at"), self.context.fresh("m"), self.context.fresh("p")
        body, n = Block(), self.dice.between(2, 8)
        saved, self.context.trips = self.context.trips, self.context.trips * n / 2
        self.statement_within(body, m, 0)
        self.statement_within(body, m, depth - 1)
        self.context.trips = saved
        block.add(f"{{ u32 {m} = {mask}; for (u32 {i} = 0; {i} < {n}u; ++{i}) {{ const bool {p} = ",
                  self.grow("bool"), f"; {m} = ballot({m}, {p}); if (!{p}) break; ", body, " } }")

    def exit(self, block):
        """Some lanes exit, and the others know which. Output that those lanes have not written stays as it was."""
        p = self.context.fresh("p")
        block.add(f"{{ const bool {p} = ", self.grow("bool"), " && ", self.grow("bool"),
                  f"; here &= ~ballot(here, {p}); if ({p}) return; }}")

    # ---- control flow on uniform conditions ----

    def common_branch(self, block, mask, depth):
        if depth <= 0:
            return
        one, other = Block(), Block()
        for side in (one, other):
            for _ in range(self.dice.between(1, 2)):
                self.nested(side, mask, depth)
        block.add("if ((", self.uniform(mask), f" & {self.dice.pick((1, 3, 5))}u) != 0) ", one, " else ", other)

    def common_loop(self, block, mask, depth):
        if depth <= 0 or not self.context.affords(100):
            return
        i, n, body = self.context.fresh("at"), self.dice.pick((1, 3, 7)), Block()
        saved, self.context.trips = self.context.trips, self.context.trips * (n / 2 + 1)
        for _ in range(self.dice.between(1, 3)):
            self.nested(body, mask, depth)
        self.context.trips = saved
        block.add(f"for (u32 {i} = 0, n = (", self.uniform(mask), f" & {n}u) + 1u; {i} < n; ++{i}) ", body)

    def nested(self, block, mask, depth):
        if mask is None:  # the whole block
            if self.dice.chance(0.6):
                getattr(self, self.dice.weighted(BLOCK_RULES))(block, None, depth - 1)
            else:
                self.statements.statement(block, 1)
        else:
            self.statement_within(block, mask, depth - 1)

    # ---- the block ----

    def exchange(self, block, mask, depth):
        """Each thread writes its own word, then reads another thread's."""
        t, s = self.dice.pick(INTS + REALS), self.context.fresh("s")
        target = self.statements.target((t,))
        if not target:
            return
        block.add(f"{{ SHARED {t} {s}[{self.threads}]; {s}[t] = ", self.grow(t), "; sync_block(); ",
                  f"{target[0]} = {s}[", self.grow("u32"), f" % {self.threads}u]; sync_block(); }}")

    def through_dynamic(self, block, mask, depth):
        target = self.statements.target(("u64", "i64", "u32"))
        if not target:
            return
        block.add("{ dynamic_shared[t] = ", self.grow("u64"), "; sync_block(); ",
                  f"{target[0]} ^= ({target[1]})dynamic_shared[", self.grow("u32"),
                  f" % {self.threads}u]; sync_block(); }}")

    def tree(self, block, mask, depth):
        """A sum by halving, for any number of threads."""
        s = self.context.fresh("s")
        target = self.statements.target(("u32",))
        block.add(f"{{ SHARED u32 {s}[{self.threads}]; {s}[t] = ", self.grow("u32"), "; sync_block(); ",
                  f"for (u32 half = 64; half; half >>= 1) {{ if (t < half && t + half < threads) "
                  f"{s}[t] += {s}[t + half]; sync_block(); }} {target[0]} ^= {s}[0]; sync_block(); }}")

    def arrival(self, block, mask, depth):
        self.arrivals.statement(block)

    def block_vote(self, block, mask, depth):
        f = self.dice.pick(("sync_count", "sync_and", "sync_or"))
        self.put(block, "u32", f"{f}(", self.grow("bool"), ")")

    def shared_atomics(self, block, mask, depth):
        """All threads change common words by one operation; then each reads one."""
        t, op = self.dice.pick((("u32", "add"), ("u32", "xor"), ("u32", "or"), ("u32", "and"), ("u32", "min"),
                                ("u32", "max"), ("i32", "min"), ("i32", "max"), ("u64", "add"), ("u64", "xor"),
                                ("u64", "min"), ("i64", "min"), ("i64", "max"), ("u32", "mul")))
        s, target = self.context.fresh("s"), self.statements.target((t,))
        if not target:
            return
        block.add(f"{{ SHARED {t} {s}[8]; for (u32 k = t; k < 8u; k += threads) {s}[k] = ({t})in[k]; sync_block(); if (",
                  self.grow("bool"), f") atomic_{op}_{t}(&{s}[", self.statements.expressions.index(8, 1), "], ",
                  self.grow(t), f"); sync_block(); {target[0]} = ({t})({target[0]} ^ {s}[",
                  self.statements.expressions.index(8, 1), "]); sync_block(); }")
