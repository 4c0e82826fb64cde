# SPDX-License-Identifier: Apache-2.0
"""A kernel: its parts, its shape, and statements that threads execute together or separately."""
from generator.context import Array, CommonWords, Context
from generator.dice import Dice
from generator.functions import Functions
from generator.scalars import INTS, REALS, WEIGHTS, literal
from generator.statements import Statements
from generator.together import Together
from generator.tree import Block, used_parts

BLOCKS = ((32, 1, 1), (64, 1, 1), (96, 1, 1), (33, 1, 1), (7, 1, 1), (50, 1, 1), (128, 1, 1), (8, 8, 1), (5, 9, 1),
          (4, 4, 4), (3, 5, 7), (16, 3, 2), (1, 1, 1), (31, 1, 1))
GRIDS = ((1, 1, 1), (1, 1, 1), (2, 1, 1), (3, 1, 1), (2, 2, 1), (1, 2, 2))
# Use of the words of `acc`: common ones first, then some for each thread.
COMMON_WORDS, OWN_WORDS = 64, 5
COMMON = (("u32", ("add", "and", "or", "xor", "min", "max", "mul")), ("i32", ("min", "max")), ("f32", ("add",)),
          ("u64", ("add", "and", "or", "xor", "min", "max")), ("i64", ("min", "max")), ("f64", ("add",)))
BUDGET = 3000


class Kernel:
    def __init__(self, seed, index):
        self.seed, self.index = seed, index
        self.name = f"k{index:02}"
        dice = Dice(f"{seed}/{index}")
        self.block = dice.pick(BLOCKS)
        self.grid = dice.pick(GRIDS)
        # alone: threads are independent; warp: warps synchronize, and lanes may leave; block: with barriers.
        self.kind = dice.weighted({"alone": 4, "warp": 3, "block": 3})
        self.functions = Functions(dice, self.name)
        self.functions.grow()
        self.constants(dice)
        self.words = 0  # words of output of each thread
        self.body = KernelBody(dice, self).grow()

    def threads(self):
        return self.block[0] * self.block[1] * self.block[2]

    def all_threads(self):
        return self.threads() * self.grid[0] * self.grid[1] * self.grid[2]

    def constants(self, dice):
        """A table in constant memory."""
        self.table = None
        if dice.chance(0.4):
            t, size = dice.weighted({k: w for k, w in WEIGHTS.items() if k in INTS}), dice.pick((4, 16, 32))
            values = ", ".join(literal(dice, t) for _ in range(size))
            self.table = Array(f"{self.name}_table", t, size, writable=False)
            self.table_text = f"CONSTANT {t} {self.table.name}[{size}] = {{{values}}};\n"

    def text(self):
        body = f"#undef WORDS\n#define WORDS {self.words}u\nKERNEL {self.name}(PARAMETERS) " + self.body.text()
        parts = used_parts(self.functions.parts, body)
        table = self.table_text if self.table else ""
        return table + "\n".join(p.text() for p in parts) + "\n" + body + "\n"


def bits_of(t, value):
    """The value as a 64-bit word, equal on device and host."""
    return f"{t}_bits({value})" if t in REALS else f"(u64){value}"


class KernelBody:
    def __init__(self, dice, kernel):
        self.dice, self.kernel = dice, kernel
        self.context = Context(dice, kernel.name, BUDGET)
        kernel.functions.give(self.context)
        self.body = Block()

    def grow(self):
        c, body = self.context, self.body
        body.add("IDENTITY;")
        for name in ("t", "g", "lane", "blk", "pm.c"):
            c.know("u32", name)
        for t, name in (("u8", "pb"), ("u16", "ph"), ("u8", "pm.a"), ("i16", "pm.b"), ("u64", "salt")):
            c.know(t, name)
        if self.kernel.table:
            c.arrays.append(self.kernel.table)
        body.add("u32 v0 = in[g & INPUT_MASK] ^ (u32)salt;")
        c.declare("u32", "v0")
        self.kernel.functions.declare_variables(c, body, self.dice.between(4, 9))
        self.memory()
        together = Together(c, self.kernel.kind, self.kernel.threads(), body)
        statements = Statements(c)
        for _ in range(self.dice.between(6, 14)):
            if self.kernel.kind != "alone" and self.dice.chance(0.4):
                together.statement(body, "full", 2)
            else:
                statements.statement(body, 3)
        if self.kernel.kind == "block":
            body.add("sync_block();")
        self.results()
        return body

    def memory(self):
        """Arrays in every memory space, and words for atomics."""
        c, body, f = self.context, self.body, self.kernel.functions
        for _ in range(self.dice.pick((0, 1, 1, 2))):
            f.declare_array(c, body)
        for s in f.structs:
            for _ in range(self.dice.between(1, 2)):
                f.declare_object(c, body, s)
        if self.dice.chance(0.4):
            self.own_part(self.dice.pick(("u8", "u16", "u32", "u64", "i32", "f32")), self.dice.pick((2, 4, 8)))
        if self.dice.chance(0.35):
            self.own_global()
        if self.dice.chance(0.3):
            t, ops = self.dice.pick(COMMON)
            at = self.dice.below(3) * 16
            c.common_words.append(CommonWords(f"(({t} *)(acc + {at}))", t, self.dice.pick(ops), 16))

    def own_part(self, t, size):
        """This thread's part of a shared array."""
        name = self.context.fresh("part")
        self.body.add(f"SHARED {t} {name}[{self.kernel.threads() * size}]; "
                      f"for (u32 k = 0; k < {size}u; ++k) {name}[t * {size}u + k] = ({t})(in[(t + k) & INPUT_MASK]);")
        self.context.arrays.append(Array(f"({name} + t * {size}u)", t, size))
        if t in ("u32", "u64"):
            self.context.own_words.append((t, f"&{name}[t * {size}u]"))

    def own_global(self):
        own = f"(acc + {COMMON_WORDS}u + g * {OWN_WORDS}u)"
        self.context.arrays.append(Array(own, "u64", 4))
        self.context.own_words.append(("u64", own))
        self.context.own_words.append(("u32", f"(u32 *)({own} + 4)"))

    def results(self):
        """Writes every variable, the hash of every array, and the fields of every structure."""
        for t, names in self.context.variables.items():
            for name in names:
                self.result(bits_of(t, name))
        for a in self.context.arrays:
            if a.writable and not a.name.startswith("(acc"):
                self.result("0ull", f" for (u32 k = 0; k < {a.size}u; ++k) "
                            f"out[g * WORDS + {self.kernel.words}u] = out[g * WORDS + {self.kernel.words}u] * 31u + "
                            f"{bits_of(a.type, a.name + '[k]')};")
        for o in self.context.objects:
            fields = [(f.type, f"{o.name}.{f.name}{f'[{k}]' if f.size else ''}")
                      for f in o.struct.fields for k in range(max(f.size, 1))]
            self.result(" * 31u + ".join(bits_of(*f) for f in fields[:6]))

    def result(self, value, more=""):
        self.body.add(f"out[g * WORDS + {self.kernel.words}u] = {value};{more}")
        self.kernel.words += 1
