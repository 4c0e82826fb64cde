# SPDX-License-Identifier: Apache-2.0
"""Reduces a kernel that fails: leaves out statements, replaces branches by their statements and expressions by
operands, as long as it fails in the same way and stays well defined."""
import os
import re
import time

import toolchain
from generator.program import Program
from generator.tree import Block, Expr, Stmt

LITERAL = {"bool": ("true", "false"), "f32": ("1.0f",), "f64": ("1.0",)}


def failure_kind(line):
    """The kind of a failure line: a wrong result, or an error message without its numbers."""
    found = re.search(r"\): (.*)$", line)
    return re.sub(r"0x[0-9a-f]+|\d+", "N", found.group(1)) if found else "wrong result"


class Reducer:
    def __init__(self, seed, index, variant, folder, seconds=600, say=print):
        self.program = Program(seed, [index])
        self.kernel = self.program.kernels[0]
        self.variant, self.say = variant, say
        self.end = time.monotonic() + seconds
        self.tries = self.taken = 0
        os.makedirs(folder, exist_ok=True)
        self.source = os.path.join(folder, f"{seed}-{self.kernel.name}-{variant}.cu")
        self.options = ()
        self.kind = None

    def write(self):
        with open(self.source, "w") as f:
            f.write(self.program.text())

    def fails(self):
        """The cheapest check comes first: most candidates fail it early."""
        self.tries += 1
        self.write()
        try:
            said = toolchain.host_says(self.source, toolchain.HOSTS[0], self.variant)
            expected = toolchain.expect(self.source, said)
            image = toolchain.compile_image(self.source, self.variant)
            differs, _ = toolchain.play(expected, image, *self.options)
            if not any(self.kind in (None, failure_kind(d)) for d in differs):
                return None
            toolchain.reference(self.source, self.variant)
        except (toolchain.GeneratorFault, toolchain.subprocess.TimeoutExpired):
            return None
        return differs

    def run(self):
        """True if the kernel fails at all; afterwards the source is the smallest one found."""
        differs = self.fails()
        if not differs:
            return False
        self.kind = failure_kind(differs[0])
        found = re.search(r"isa (\w+), (\d+) threads, slice (\d+)", differs[0])
        self.options = ("--isa", found.group(1), "--threads", found.group(2), "--slice", found.group(3)) if found else ()
        before = -1
        while before != self.taken and time.monotonic() < self.end:
            before = self.taken
            self.leave_out()
            self.open_blocks()
            self.simplify()
        self.finish()
        return True

    def finish(self):
        self.program.kernels = [self.kernel]
        self.fails()
        image = f"{os.path.splitext(self.source)[0]}.{self.variant}.ptx"
        expected = os.path.splitext(self.source)[0] + ".expected"
        where = toolchain.first_difference(self.kernel, self.source, expected, image, self.variant, self.options)
        with open(self.source, "a") as f:
            f.write(f"// Seed {self.program.seed}, kernel {self.kernel.name}, {self.variant}: {self.kind}; {where}.\n")
        self.say(f"reduced to {self.source} ({self.tries} tries): {self.kind}; {where}")

    def attempt(self, change, undo):
        if time.monotonic() > self.end:
            return False
        change()
        if self.fails():
            self.taken += 1
            return True
        undo()
        return False

    def roots(self):
        return [self.kernel.body] + self.kernel.functions.parts

    def all(self, kind):
        return [n for root in self.roots() for n in root.nodes() if isinstance(n, kind)]

    def leave_out(self):
        """Removes statements, many at a time, then fewer."""
        for block in self.all(Block):
            size = max(len(block.parts) // 2, 1)
            while size:
                at = len(block.parts) - size
                while at > -size and block.parts:
                    low, high = max(at, 0), max(at, 0) + size
                    saved = list(block.parts)
                    self.attempt(lambda: block.parts.__delitem__(slice(low, high)),
                                 lambda: block.parts.__setitem__(slice(None), saved))
                    at -= size
                size //= 2

    def open_blocks(self):
        """Replaces a statement by one of its blocks."""
        for block in self.all(Block):
            for s in list(block.parts):
                for inner in s.blocks() if isinstance(s, Stmt) else ():
                    if s not in block.parts:
                        break
                    at, saved = block.parts.index(s), list(block.parts)
                    self.attempt(lambda: block.parts.__setitem__(slice(at, at + 1), inner.parts),
                                 lambda: block.parts.__setitem__(slice(None), saved))

    def simplify(self):
        """Replaces an expression by a literal or one of its operands, from the outside in."""
        done = set()
        for node in self.all((Stmt, Expr, Block)):
            for k, p in enumerate(node.parts):
                if isinstance(p, Expr) and len(p.text()) > 6 and id(p) not in done:
                    done.add(id(p))
                    self.simplify_one(node, k, p)

    def simplify_one(self, node, k, e):
        literals = [Expr(e.type, t) for t in LITERAL.get(e.type, (f"({e.type})1u",) if e.type[0] in "ui" else ())]
        inner = [n for n in e.nodes() if n is not e and isinstance(n, Expr) and n.type == e.type]
        for other in (literals if e.type != "uniform" else []) + sorted(inner, key=lambda n: len(n.text()))[:4]:
            if len(other.text()) < len(e.text()) and self.attempt(lambda: node.parts.__setitem__(k, other),
                                                                  lambda: node.parts.__setitem__(k, e)):
                return
