# SPDX-License-Identifier: Apache-2.0
"""Expressions without undefined behaviour: arithmetic is unsigned and truncated to its type, shift counts are
bounded, and division and conversions use functions that are defined for every operand."""
from generator.intrinsics import INTRINSICS
from generator.scalars import INTS, REALS, WEIGHTS, bits, literal, wide
from generator.tree import Expr

INT_RULES = {"leaf": 3, "binary": 8, "shift": 3, "quotient": 1, "unary": 1, "convert": 3, "select": 2,
             "from_bool": 1, "intrinsic": 6, "element": 3, "input": 1, "field": 2, "call": 2, "table": 1}
REAL_RULES = {"leaf": 3, "real_binary": 7, "intrinsic": 5, "convert": 2, "select": 2, "tame": 2,
              "element": 2, "field": 2, "call": 1, "table": 1}
BOOL_RULES = {"compare": 6, "compare_real": 1, "logic": 2, "negation": 1, "bit": 2, "leaf": 1}

LOADS = ("byte", "signed_byte", "bytes", "half_word", "long", "pair", "quad", "longs", "shorts")


class Expressions:
    def __init__(self, context):
        self.context = context
        self.dice = context.dice

    def grow(self, t, depth):
        self.context.spend(1)
        if depth <= 0 or not self.context.affords(8):
            return self.leaf(t, depth)
        rules = BOOL_RULES if t == "bool" else REAL_RULES if t in REALS else INT_RULES
        return getattr(self, self.dice.weighted(rules))(t, depth)

    def any_type(self):
        return self.dice.weighted(WEIGHTS)

    # ---- without operands ----

    def leaf(self, t, depth):
        names = self.context.readable(t)
        if names and self.dice.chance(0.8):
            return Expr(t, self.dice.pick(names))
        others = [u for u in (INTS if t in INTS else REALS if t in REALS else ()) if self.context.readable(u)]
        if others and self.dice.chance(0.7):
            other = self.dice.pick(others)
            return Expr(t, f"({t})", Expr(other, self.dice.pick(self.context.readable(other))))
        return Expr(t, literal(self.dice, t))

    # ---- integers ----

    def binary(self, t, depth):
        w, op = wide(t), self.dice.pick("+-*&|^+-")
        return Expr(t, f"({t})(({w})", self.grow(t, depth - 1), f" {op} ({w})", self.grow(t, depth - 1), ")")

    def shift(self, t, depth):
        op = self.dice.pick(("<<", ">>"))
        value = f"(({wide(t)})" if op == "<<" else "("
        return Expr(t, f"({t})({value}", self.grow(t, depth - 1), f") {op} (",
                    self.grow("u32", depth - 1), f" & {bits(t) - 1}u))")

    def quotient(self, t, depth):
        name = self.dice.pick(("quot", "rest"))
        w = {"u": "u", "i": "i"}[t[0]] + ("64" if bits(t) == 64 else "32")
        return Expr(t, f"({t}){name}_{w}(", self.grow(t, depth - 1), ", ", self.grow(t, depth - 1), ")")

    def unary(self, t, depth):
        op = self.dice.pick(("~", "0u - "))
        return Expr(t, f"({t})({op}({wide(t)})", self.grow(t, depth - 1), ")")

    def from_bool(self, t, depth):
        return Expr(t, f"({t})", self.grow("bool", depth - 1))

    def input(self, t, depth):
        self.context.spend(2)
        load, end = self.dice.pick((("in[", "]"), ("load_ldg(in + ", ")"), (f"load_{self.dice.pick(LOADS)}(in, ", ")")))
        return Expr(t, f"({t}){load}", Expr("u32", "(", self.grow("u32", depth - 1), " & INPUT_MASK)"), end)

    # ---- real numbers ----

    def real_binary(self, t, depth):
        op = self.dice.pick("+-*/+-*")
        return Expr(t, "(", self.grow(t, depth - 1), f" {op} ", self.grow(t, depth - 1), ")")

    def tame(self, t, depth):
        source = "u" + t[1:]
        return Expr(t, f"{t}_tame(", self.grow(source, depth - 1), ")")

    # ---- both ----

    def convert(self, t, depth):
        if t in REALS:
            source = self.any_type()
        else:
            source = self.dice.pick(INTS)
        return Expr(t, f"({t})", self.grow(source, depth - 1))

    def select(self, t, depth):
        return Expr(t, f"({t})(", self.grow("bool", depth - 1), " ? ", self.grow(t, depth - 1), " : ",
                    self.grow(t, depth - 1), ")")

    def intrinsic(self, t, depth):
        kin = REALS if t in REALS else INTS
        found = [i for i in INTRINSICS if i.type in kin]
        same = [i for i in found if i.type == t]
        chosen = self.dice.pick(same if same and self.dice.chance(0.6) else found)
        self.context.spend(3)
        parts = [f"({t}){chosen.name}("]
        for k, argument in enumerate(chosen.arguments):
            parts += [", " if k else "", self.grow(argument, depth - 1)]
        return Expr(t, *parts, ")")

    def element(self, t, depth):
        found = [a for a in self.context.arrays if (a.type in REALS) == (t in REALS)]
        if not found:
            return self.leaf(t, depth)
        array = self.dice.pick(found)
        self.context.spend(2)
        return Expr(t, f"({t}){array.name}[", self.index(array.size, depth - 1), "]")

    def index(self, size, depth):
        return Expr("u32", "(", self.grow("u32", depth), f" & {size - 1}u)")

    def field(self, t, depth):
        found = [(o, f) for o in self.context.objects for f in o.struct.fields
                 if (f.type in REALS) == (t in REALS)]
        if not found:
            return self.leaf(t, depth)
        o, f = self.dice.pick(found)
        if f.size:
            return Expr(t, f"({t}){o.name}.{f.name}[", self.index(f.size, depth - 1), "]")
        return Expr(t, f"({t}){o.name}.{f.name}")

    def call(self, t, depth):
        found = [f for f in self.context.scalar_functions
                 if (f.type in REALS) == (t in REALS) and self.context.affords(f.cost)]
        if not found:
            return self.leaf(t, depth)
        f = self.dice.pick(found)
        self.context.spend(f.cost)
        return Expr(t, f"({t})", self.invocation(f, f.name, depth))

    def invocation(self, f, callee, depth):
        parts = [callee, "(in"]
        for kind, what in f.arguments:
            parts.append(", ")
            if kind == "depth":
                parts.append(Expr("u32", f"{self.dice.between(1, f.depth)}u"))
            elif kind == "struct":
                objects = [o for o in self.context.objects if o.struct is what]
                parts.append(self.dice.pick(objects).name if objects else f"{what.name}_of(1u)")
            else:
                parts.append(self.grow(what, min(depth - 1, 2)))
        return Expr(f.type, *parts, ")")

    def table(self, t, depth):
        found = [x for x in self.context.tables
                 if (x.type in REALS) == (t in REALS) and self.context.affords(x.cost)]
        if not found:
            return self.leaf(t, depth)
        table = self.dice.pick(found)
        self.context.spend(table.cost)
        callee = Expr("function", f"{table.name}[", self.index(table.size, depth - 1), "]")
        return Expr(t, f"({t})", self.invocation(table, callee, depth))

    # ---- truth ----

    def compare(self, t, depth):
        kind = self.dice.pick(INTS)
        op = self.dice.pick(("<", "<=", ">", ">=", "==", "!="))
        return Expr("bool", "(", self.grow(kind, depth - 1), f" {op} ", self.grow(kind, depth - 1), ")")

    def compare_real(self, t, depth):
        kind = self.dice.pick(REALS)
        op = self.dice.pick(("<", "<=", ">", ">=", "==", "!="))
        return Expr("bool", "(", self.grow(kind, depth - 1), f" {op} ", self.grow(kind, depth - 1), ")")

    def logic(self, t, depth):
        op = self.dice.pick(("&&", "||", "!=", "==", "^"))
        return Expr("bool", "(", self.grow("bool", depth - 1), f" {op} ", self.grow("bool", depth - 1), ")")

    def negation(self, t, depth):
        return Expr("bool", "(!", self.grow("bool", depth - 1), ")")

    def bit(self, t, depth):
        kind = self.dice.pick(INTS)
        return Expr("bool", "(((", self.grow(kind, depth - 1), ") >> (", self.grow("u32", depth - 1),
                    f" & {bits(kind) - 1}u) & 1) != 0)")


