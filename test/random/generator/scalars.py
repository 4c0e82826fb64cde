# SPDX-License-Identifier: Apache-2.0
"""Scalar types: widths, the unsigned type used for arithmetic, and literals."""

INTS = ("u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64")
REALS = ("f32", "f64")
ALL = INTS + REALS
# Programs mostly use 32-bit words.
WEIGHTS = {"u32": 6, "i32": 4, "u64": 3, "i64": 2, "u16": 3, "i16": 3, "u8": 2, "i8": 2, "f32": 3, "f64": 2}
EDGES = (0, 1, 2, 3, 7, 8, 15, 16, 31, 32, 33, 63, 64, 127, 128, 255, 256, 32767, 32768, 65535, 65536,
         0x7fffffff, 0x80000000, 0xffffffff, 0x100000000, 0x7fffffffffffffff, 0x8000000000000000,
         0xffffffffffffffff)


def bits(t):
    return int(t[1:])


def wide(t):
    """The unsigned type in which arithmetic on `t` cannot overflow."""
    return "u64" if bits(t) == 64 else "u32"


def literal(dice, t):
    if t == "bool":
        return dice.pick(("true", "false"))
    if t in REALS:
        suffix = "f" if t == "f32" else ""
        if dice.chance(0.7):
            return f"{dice.pick(('0.5', '1.0', '2.0', '3.25', '-0.75', '1e10', '1e-3', '-1.0', '0.1'))}{suffix}"
        return f"{t}_of({literal(dice, 'u' + t[1:])})"
    kind = dice.below(4)
    value = dice.between(0, 9) if kind < 2 else dice.pick(EDGES) if kind == 2 else dice.below(1 << bits(t))
    value &= (1 << bits(t)) - 1
    return f"({t}){value}u" if value < 10 else f"({t}){hex(value)}ull"
