# SPDX-License-Identifier: Apache-2.0
"""Statements of one thread: every loop ends, every path is well defined, and lanes diverge."""
from generator.expressions import Expressions
from generator.scalars import INTS, REALS, bits, wide
from generator.tree import Block, Stmt

RULES = {"assign": 10, "update": 4, "store": 5, "set_field": 3, "branch": 5, "choose": 3, "count": 3,
         "repeat": 2, "leave": 5, "give": 2, "transform": 2, "copy": 1, "by_pointer": 2, "dispatch": 1,
         "own_atomic": 3, "common_atomic": 2, "vector": 1}


class Statements:
    def __init__(self, context):
        self.context = context
        self.dice = context.dice
        self.expressions = Expressions(context)

    def block(self, size, depth):
        block = Block()
        for _ in range(size):
            self.statement(block, depth)
        return block

    def statement(self, block, depth):
        rule = self.dice.weighted(RULES) if self.context.affords(20) else "assign"
        if not getattr(self, rule)(block, depth):
            self.assign(block, depth)

    def grow(self, t, depth=None):
        return self.expressions.grow(t, self.dice.between(1, 3) if depth is None else depth)

    def target(self, kinds=INTS + REALS):
        """A random variable of one of these types, and its type."""
        found = [(n, t) for t in kinds for n in self.context.variables.get(t, [])]
        return self.dice.pick(found) if found else None

    # ---- values ----

    def assign(self, block, depth):
        name, t = self.target(INTS + REALS + ("bool",))
        block.add(f"{name} = ", self.grow(t), ";")
        return True

    def update(self, block, depth):
        name, t = self.target()
        op = self.dice.pick("+-*") if t in REALS else self.dice.pick("+-*^&|")
        if t in REALS:
            block.add(f"{name} = {name} {op} ", self.grow(t), ";")
        else:
            block.add(f"{name} = ({t})(({wide(t)}){name} {op} ({wide(t)})", self.grow(t), ");")
        return True

    def store(self, block, depth):
        arrays = [a for a in self.context.arrays if a.writable]
        if not arrays:
            return False
        a = self.dice.pick(arrays)
        self.context.spend(2)
        block.add(f"{a.name}[", self.expressions.index(a.size, 2), "] = ", self.grow(a.type), ";")
        return True

    def set_field(self, block, depth):
        if not self.context.objects:
            return False
        o = self.dice.pick(self.context.objects)
        f = self.dice.pick(o.struct.fields)
        at = ["[", self.expressions.index(f.size, 2), "]"] if f.size else []
        block.add(f"{o.name}.{f.name}", *at, " = ", self.grow(f.type), ";")
        return True

    def copy(self, block, depth):
        pairs = [(a, b) for a in self.context.objects for b in self.context.objects
                 if a is not b and a.struct is b.struct]
        if not pairs:
            return False
        a, b = self.dice.pick(pairs)
        block.add(f"{a.name} = {b.name};")
        return True

    def vector(self, block, depth):
        """Stores and loads words through an array of vectors in local memory."""
        kind, of = self.dice.pick((("uint4", "u32"), ("longlong2", "i64"), ("short4", "i16"), ("uchar4", "u8"),
                                   ("int2", "i32"), ("float4", "f32")))
        target = self.target((of,))
        if not target:
            return False
        q, last = self.context.fresh("q"), "y" if kind in ("longlong2", "int2") else "w"
        block.add("{ ", f"{kind} {q}[4] = {{}}; {q}[", self.expressions.index(4, 1), "].x = ", self.grow(of),
                  f"; {q}[", self.expressions.index(4, 1), f"].{last} = ", self.grow(of),
                  f"; const {kind} r = {q}[", self.expressions.index(4, 1),
                  f"]; {target[0]} = ({of})(r.x {'-' if of == 'f32' else '^'} r.{last}); }}")
        return True

    # ---- control flow ----

    def branch(self, block, depth):
        if depth <= 0:
            return False
        parts = ["if (", self.grow("bool"), ") ", self.inner(depth)]
        if self.dice.chance(0.5):
            parts += [" else ", self.inner(depth)]
        block.add(*parts)
        return True

    def inner(self, depth):
        return self.block(self.dice.between(1, 3), depth - 1)

    def choose(self, block, depth):
        """A switch: dense ones compile to jump tables, sparse ones to searches."""
        if depth <= 0:
            return False
        t = self.dice.pick(("u32", "i32", "u8", "u64", "i16"))
        dense, n = self.dice.chance(0.7), self.dice.between(3, 10)
        mask = 15 if dense else (1 << (bits(t) - 1)) - 1
        values = list(range(n)) if dense else sorted({self.dice.below(mask) & 0xff | k << 5 & mask for k in range(n)})
        parts = [f"switch (({t})(", self.grow(t), f" & {mask}{'ull' if t == 'u64' else ''})) {{\n"]
        outer, self.context.in_switch = self.context.in_switch, True
        for v in values:
            if dense and n > 5 and self.dice.chance(0.1):
                continue  # leaves a gap
            parts += [f"case {v}: ", self.block(self.dice.between(1, 2), depth - 2),
                      " break;\n" if self.dice.chance(0.8) else "\n// falls through\n"]
        if self.dice.chance(0.7):
            parts += ["default: ", self.inner(depth - 1), "\n"]
        self.context.in_switch = outer
        block.add(*parts, "}")
        return True

    def loop_body(self, trips, depth):
        c = self.context
        saved = c.trips, c.in_loop, c.in_switch
        c.trips, c.in_loop, c.in_switch = c.trips * trips, True, False
        body = self.block(self.dice.between(1, 4), depth - 1)
        c.trips, c.in_loop, c.in_switch = saved
        return body

    def count(self, block, depth):
        """A counted loop whose trip count depends on data."""
        mask = self.dice.pick((1, 3, 3, 7, 7, 15))
        if depth <= 0 or not self.context.affords(mask * 10):
            return False
        i, t = self.context.fresh("at"), self.dice.pick(("u32", "u32", "i32", "u64", "u8", "i16"))
        limit = self.grow("u32", 2)
        if self.dice.chance(0.2):
            head = [f"for ({t} {i} = {self.dice.between(1, 12)}; {i} > 0; --{i}) "]
        else:
            head = [f"for ({t} {i} = 0; {i} < ({t})((", limit, f" & {mask}u) + {self.dice.below(3)}u); ++{i}) "]
        known = self.context.constants.setdefault(t, [])
        known.append(i)
        body = self.loop_body(mask / 2 + 1, depth)
        known.remove(i)
        block.add(*head, body)
        return True

    def repeat(self, block, depth):
        """While and do-while loops with any condition, and a bound on iterations."""
        fuel = self.dice.pick((2, 5, 9, 20))
        if depth <= 0 or not self.context.affords(fuel * 10):
            return False
        f, condition = self.context.fresh("fuel"), self.grow("bool")
        t = self.dice.pick(("u32", "u32", "u8", "u16"))
        body = self.loop_body(fuel / 2, depth)
        if self.dice.chance(0.5):
            block.add(f"{{ {t} {f} = {fuel}; while (", condition, f" && {f}-- != 0) ", body, " }")
        else:
            block.add(f"{{ {t} {f} = {fuel}; do ", body, f" while (--{f} != 0 && ", condition, "); }")
        return True

    def leave(self, block, depth):
        words = ["break", "continue"] if self.context.in_loop else ["break"] if self.context.in_switch else []
        if not words:
            return False
        block.add("if (", self.grow("bool"), f") {self.dice.pick(words)};")
        return True

    def give(self, block, depth):
        """An early return."""
        if self.context.returns is None:
            return False
        block.add("if (", self.grow("bool"), ") return ", self.result(), ";")
        return True

    def result(self):
        t = self.context.returns
        return self.grow(t, 2) if isinstance(t, str) else self.context.result_object

    # ---- calls ----

    def transform(self, block, depth):
        """Passes a structure through a function, by value."""
        found = [(o, f) for o in self.context.objects for f in self.context.struct_functions
                 if f.type is o.struct and self.context.affords(f.cost)]
        if not found:
            return False
        o, f = self.dice.pick(found)
        self.context.spend(f.cost)
        block.add(f"{o.name} = ", self.expressions.invocation(f, f.name, 2), ";")
        return True

    def by_pointer(self, block, depth):
        """Passes an array in any memory to a function."""
        found = [(a, f) for a in self.context.arrays for f in self.context.pointer_functions
                 if a.writable and a.type == f.element and a.size >= f.size and self.context.affords(f.cost)]
        if not found:
            return False
        a, f = self.dice.pick(found)
        self.context.spend(f.cost)
        block.add(f"{f.name}(in, {a.name}, ", self.grow("u32", 2), ");")
        return True

    def dispatch(self, block, depth):
        """A virtual call on an object that data selects."""
        found = [c for c in self.context.classes if self.context.affords(c.cost)]
        target = self.target(("u32", "i32", "u64"))
        if not found or not target:
            return False
        c = self.dice.pick(found)
        self.context.spend(c.cost)
        a, b = self.context.fresh("p"), self.context.fresh("p")
        block.add(f"{{ {c.derived[0]} {a}; {c.derived[1]} {b}; {a}.a = ", self.grow("u32", 2), f"; {b}.a = ",
                  self.grow("u32", 2), f"; {a}.b = ", self.grow("i16", 1), f"; {b}.c = ", self.grow("u64", 1), f"; {target[0]} = ({target[1]}){c.caller}(in, ",
                  self.grow("bool"), f" ? (const {c.name} *)&{a} : (const {c.name} *)&{b}, ",
                  self.grow("u32", 2), "); }")
        return True

    # ---- atomics ----

    def own_atomic(self, block, depth):
        """Atomics on a word that only this thread uses: the old value is known."""
        if not self.context.own_words:
            return False
        t, name = self.dice.pick(self.context.own_words)
        target = self.target((t,))
        if not target:
            return False
        op = self.dice.pick(("add", "exch", "min", "max", "xor", "cas", "and", "or")
                            + (("inc", "dec", "sub") if t == "u32" else ()))
        more = [", ", self.grow(t, 1)] if op == "cas" else [" & 3u"] if op in ("inc", "dec") else []
        block.add(f"{target[0]} = atomic_{op}_{t}({name}, ", self.grow(t, 2), *more, ");")
        return True

    def common_atomic(self, block, depth):
        """Atomics on words that all threads share: operations of one kind give the same result in any order."""
        if not self.context.common_words:
            return False
        s = self.dice.pick(self.context.common_words)
        value = [f"({s.type})(", self.grow("u32", 2), " & 255u)"] if s.type in REALS else [self.grow(s.type, 2)]
        block.add(f"atomic_{s.op}_{s.type}(&{s.name}[", self.expressions.index(s.size, 2), "], ", *value, ");")
        return True
