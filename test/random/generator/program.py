# SPDX-License-Identifier: Apache-2.0
"""A file of kernels, and the list from which the host's reference runs them."""
from generator.kernels import COMMON_WORDS, OWN_WORDS, Kernel
from generator.tree import indented

HEAD = """// SPDX-License-Identifier: Apache-2.0
// Seed {seed}.
#include "test/random/language/language.h"

"""


class Program:
    def __init__(self, seed, indices):
        self.seed = seed
        self.kernels = [Kernel(seed, i) for i in indices]

    def text(self):
        return indented(HEAD.format(seed=self.seed) + "\n".join(k.text() for k in self.kernels) + self.tail())

    def tail(self):
        rows = []
        for k in self.kernels:
            grid, block = (", ".join(map(str, s)) for s in (k.grid, k.block))
            words = k.words * k.all_threads()
            shared = k.threads() * 8 if "dynamic_shared" in k.body.text() else 0
            acc = COMMON_WORDS + OWN_WORDS * k.all_threads()
            rows.append(f'{{"{k.name}", {k.name}, {{{grid}}}, {{{block}}}, {shared}, {words}, {acc}, {k.index}}},')
        return ('\n#ifndef __CUDACC__\n#include "test/random/language/reference.h"\n'
                "static const struct reference references[] = {\n" + "\n".join(rows) +
                f"\n}};\nint main(int argc, char **argv) {{\nreturn reference_main(references, {len(rows)}, "
                f"{self.seed}ull, argc > 1 ? argv[1] : NULL);\n}}\n#endif\n")
