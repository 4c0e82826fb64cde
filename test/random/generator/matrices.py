# SPDX-License-Identifier: Apache-2.0
"""Statements of whole warps: matrix products, and moves of matrices between memory and registers.

They are left out where a warp is incomplete."""
from generator.scalars import INTS
from generator.tree import Block

PRODUCTS = ("f16_8", "f16_16", "half", "bf16_8", "bf16_16", "tf32", "f64", "fp8", "s8_16", "s8_32", "s4_32", "s4_64",
            "b1_128", "b1_256")
# wmma: number of words of the result.
TILES = {"square": 256, "tall": 256, "halves": 128, "bytes": 256}
WHOLE = "~0u"


class Matrices:
    """The `rules` that Together can choose from; empty in kernels without matrices."""

    def __init__(self, together, threads, body):
        self.together = together
        self.dice = together.dice
        self.context = together.context
        self.rules = {}
        if threads < 32 or not self.dice.chance(0.7):
            return
        self.rules = {"product": 4, "transpose": 1, "load_rows": 2, "store_rows": 1, "tile": 2}
        self.area = self.context.fresh("tile")
        body.add(f"alignas(32) SHARED u32 {self.area}[{threads // 32} * TILE_WORDS];")

    def statement(self, block, mask):
        """A statement of one rule, at a place that all lanes of `mask` reach."""
        inner = Block()
        self.context.spend(60)
        getattr(self, self.dice.weighted(self.rules))(inner)
        block.add(f"if ({mask} == {WHOLE}) ", inner)

    def put(self, block, *value):
        """Assigns to some variable; one always exists."""
        name, t = self.together.statements.target(("u64", "i64", "u32", "i32")) or self.together.statements.target(INTS)
        block.add(f"{name} = ({t})folded(", *value, ");")

    def number(self):
        return self.together.grow("u32")

    def product(self, block):
        self.put(block, f"mma_{self.dice.pick(PRODUCTS)}(", self.number(), ", ", self.number(), ", ",
                 self.number(), ")")

    def transpose(self, block):
        self.put(block, "transpose_matrix(", self.number(), ")")

    def rows(self, block):
        """The warp's part of the area, which no lane reads any more."""
        name = self.context.fresh("rows")
        block.add(f"u32 *const {name} = {self.area} + (t >> 5) * TILE_WORDS;")
        return name

    def load_rows(self, block):
        rows = self.rows(block)
        block.add(f"for (u32 k = lane; k < 128u; k += 32u) {rows}[k] = word_of(", self.number(), ", k, {KEPT_ALL});")
        block.add(f"sync_warp({WHOLE});")
        form = self.dice.pick(("1, true", "2, false", "4, false", "4, true"))
        self.put(block, f"load_matrices<{form}>({rows}, ", self.number(), " & 31u)")
        block.add(f"sync_warp({WHOLE});")

    def store_rows(self, block):
        """Each lane chooses any row of its own."""
        rows = self.rows(block)
        block.add(f"store_matrices<{self.dice.pick(('true', 'false'))}>({rows}, lane ^ (",
                  self.together.uniform(None), " & 31u), ", self.number(), ");")
        block.add(f"sync_warp({WHOLE});")
        self.put(block, f"{rows}[", self.number(), " & 127u]")
        block.add(f"sync_warp({WHOLE});")

    def tile(self, block):
        rows, name = self.rows(block), self.dice.pick(tuple(TILES))
        block.add(f"wmma_{name}_fill({rows}, lane, ", self.number(), ");")
        block.add(f"sync_warp({WHOLE});")
        block.add(f"wmma_{name}({rows});")
        block.add(f"sync_warp({WHOLE});")
        self.put(block, f"{rows}[512u + (", self.number(), f" & {TILES[name] - 1}u)]")
        block.add(f"sync_warp({WHOLE});")
