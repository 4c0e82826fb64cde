# SPDX-License-Identifier: Apache-2.0
"""Input values for forms: special values crossed, the rest random from a seed.

A value is its bits as an integer. A kind says how it is drawn: by the meaning of its bits, or by the purpose of
the operand.
"""
import random
import struct

SIZE = {"i8": 1, "p": 1, "i16": 2, "h": 2, "bh": 2, "i32": 4, "f": 4, "h2": 4, "bh2": 4, "i16x2": 4, "n": 4, "i64": 8,
        "d": 8, "i128": 16, "fp8": 2, "mask": 4, "full": 4, "few": 4, "few64": 8, "lane": 4, "clamp": 4, "base": 4,
        "nth": 4, "near": 4, "bit": 4, "mh2": 4, "mbh2": 4, "mtf": 4, "mf": 4, "md": 8, "mfp8": 4, "meta": 4,
        "metatf": 4, "same": 4, "uni": 1, "row": 4, "sel": 4,
        "gf": 4, "gh2": 4, "gbh2": 4, "gtf": 4, "gfp8": 4, "quad": 1}


def f32(x):
    return struct.unpack("<I", struct.pack("<f", x))[0]


def f64(x):
    return struct.unpack("<Q", struct.pack("<d", x))[0]


def f16(x):
    return struct.unpack("<H", struct.pack("<e", x))[0]


def bf16(x):
    return f32(x) >> 16


def both(bits, sign):
    """Each value with both signs."""
    return [b ^ s for b in bits for s in (0, sign)]


def ints(width):
    top = 1 << width
    few = [0, 1, 2, 3, 5, 7, 8, 10, 15, 16, 24, 31, 32, 33, 63, 64, 127, 128, 129, 255, 256]
    edges = [top // 2 - 1, top // 2, top // 2 + 1, top - 1, top - 2, top - 3, top - 128, top - 129]
    more = {8: [], 16: [0x5555, 0xaaaa, 0x7f80, 0x00ff, 0xff00, 0x1234],
            32: [65, 0x7fff, 0x8000, 0xffff, 0x10000, 0xffffff, 0x1000000, 0x1000001, 0x1000003, 0x7fffffbf, 0x7fffffc0,
                 0xffffff7f, 0xffffff80, 0x55555555, 0xaaaaaaaa, 0x12345678],
            64: [0xffff, 0xffffff, 0x1000001, 0x7fffffff, 0x80000000, 0xffffffff, 0x100000000, 0x100000001,
                 (1 << 53) - 1, (1 << 53) + 1, (1 << 54) + 2, (1 << 63) - 512, (1 << 63) - 513, top - 1024, top - 1025,
                 0x5555555555555555, 0x123456789abcdef0]}
    return sorted({x % top for x in few + edges + more[width]})


F32 = both([0, 1, 0x00400000, 0x007fffff, 0x00800000, 0x00800001, 0x33800000, 0x3effffff, 0x3f000000, 0x3f7fffff,
            0x3f800000, 0x3f800001, f32(1.5), f32(2.5), 0x40490fdb, 0x4b7fffff, 0x4f000000, 0x7f7fffff, 0x7f800000,
            0x7f800001, 0x7fc00000, 0x7fffffff], 1 << 31)
# For conversions and functions of one operand: values halfway between results, and beyond the results' range.
F32_MORE = both(
    [f32(x) for x in (0.25, 0.75, 3, 3.5, 4.5, 6, 7, 10, 100, 126, 127, 127.5, 128, 129, 149, 150, 151, 255, 255.5, 256,
                      448, 464, 480, 57344, 61440, 65504, 65519, 65520, 65535, 65536, 32767.5, 2.0**31 - 128, 2.0**32,
                      2.0**32 - 256, 2.0**63, 2.0**64, 2.0**63 - 2.0**39, 2.0**-14, 2.0**-24, 2.0**-25, 2.0**-26, 1 + 2.0**-11,
                      1 + 3 * 2.0**-11, 1 + 2.0**-8, 1 + 3 * 2.0**-8, 1 + 2.0**-9, 2.0**-6, 2.0**-9, 2.0**-10, 2.0**-16,
                      2.0**-17, 0.1, 0.7853982, 1.5707964, 6.2831855, 88.72284, 1e5, 1e30)]
    + [0x33000001, 0x38800001, 0x387fffff, 0x3f801000, 0x3f801001, 0x3f803000, 0x3f808000, 0x3f808001, 0x3f818000,
       0x477fefff, 0x477ff000, 0x477fe000, 0x7f7f8000, 0x7f7f7fff, 0x7fa00000, 0x7f800fff, 0x4effffff, 0x4f7fffff,
       0x4f800000, 0x5effffff, 0x5f000000, 0x5f7fffff, 0x7e800000, 0x7e800001, 0x7e7fffff, 0x7f000000, 0x3b800000,
       0x3f800fff, 0x3f7ff000, 0x3f7fe000, 0x3effffff, 0x3fbfffff, 0x3fc00001, 0x401fffff, 0x40200001], 1 << 31)
F64 = both([0, 1, 1 << 51, (1 << 52) - 1, 1 << 52, (1 << 52) + 1, f64(2.0**-53), f64(0.5) - 1, f64(0.5), f64(1) - 1, f64(1),
            f64(1) + 1, f64(1.5), f64(2.5), f64(3.141592653589793), f64(2.0**53 - 1), f64(2.0**31), 0x7fefffffffffffff,
            0x7ff << 52, (0x7ff << 52) + 1, 0x7ff8 << 48, (1 << 63) - 1], 1 << 63)
F64_MORE = both(
    [f64(struct.unpack("<f", struct.pack("<I", b & 0x7fffffff))[0]) for b in F32_MORE if b & 0x7f800000 != 0x7f800000]
    + [f64(x) for x in (2.0**-126, 2.0**-149, 2.0**-150, 2.0**-127, 1 + 2.0**-24, 1 + 3 * 2.0**-24, 3.4028235677973366e+38,
                        3.4028235677973362e+38, 2147483647.5, 2147483647, 4294967295.5, 65519.999999, 1e300,
                        9223372036854774784.0, 18446744073709549568.0, 2.0**63, 2.0**64)]
    + [f64(2.0**-150) + 1, f64(1 + 2.0**-24) + 1, f64(65520) - 1, f64(1 + 2.0**-11) + 1, f64(1 + 2.0**-8) + 1,
       0x7ff4 << 48, 0x7ff0000020000000, 0x7ff0000000000fff], 1 << 63)
F16 = both([0, 1, 0x200, 0x3ff, 0x400, 0x401, 0x1000, 0x1400, 0x37ff, 0x3800, 0x3bff, 0x3c00, 0x3c01, 0x3e00, 0x4100,
            0x4248, 0x63ff, 0x6800, 0x7bff, 0x7c00, 0x7c01, 0x7e00, 0x7fff], 1 << 15)
BF16 = both([0, 1, 0x40, 0x7f, 0x80, 0x81, 0x3b80, 0x3b00, 0x3eff, 0x3f00, 0x3f7f, 0x3f80, 0x3f81, 0x3fc0, 0x4020, 0x4049,
             0x437f, 0x4f00, 0x7f7f, 0x7f80, 0x7f81, 0x7fc0, 0x7fff], 1 << 15)
COUNTS = [0, 1, 2, 4, 7, 8, 15, 16, 17, 24, 30, 31, 32, 33, 40, 63, 64, 65, 127, 128, 254, 255, 256, 257, 0x100, 0x120,
          0x1ff, 0x10000, 0x80000000, 0xffffffe0, 0xffffffff]
SPECIAL = {"i8": list(range(256)), "i16": ints(16), "i32": ints(32), "i64": ints(64), "f": F32, "d": F64, "h": F16,
           "bh": BF16, "n": COUNTS, "p": [0, 1], "bit": [0, 1], "nth": [x % (1 << 32) for x in (0, 1, 2, 3, 8, 31, 32, 33, -1, -2, -8, -32)],
           "base": [0, 1, 5, 15, 16, 30, 31], "sel": [0x3210, 0x7654, 0, 0xfedc, 0xba98, 0x0123, 0x8888, 0xffffffff]}
MORE = {"f": F32_MORE, "d": F64_MORE}
PAIRS = {"h2": "h", "bh2": "bh", "i16x2": "i16"}


def close(rng, kind):
    """A number of moderate size, so that a sum depends on both operands."""
    sign = rng.getrandbits(1)
    if kind == "f":
        return sign << 31 | (127 + rng.randint(-12, 12)) << 23 | rng.getrandbits(23)
    if kind == "d":
        return sign << 63 | (1023 + rng.randint(-30, 30)) << 52 | rng.getrandbits(52)
    if kind == "h":
        return sign << 15 | (15 + rng.randint(-6, 6)) << 10 | rng.getrandbits(10)
    return sign << 15 | (127 + rng.randint(-6, 6)) << 7 | rng.getrandbits(7)


def draw(rng, kind):
    """A random value of a kind that does not depend on other lanes."""
    if kind in PAIRS:
        return draw(rng, PAIRS[kind]) | draw(rng, PAIRS[kind]) << 16
    turn = rng.random()
    if kind == "i128":
        return draw(rng, "i64") | draw(rng, "i64") << 64
    if turn < 0.15 or kind in ("p", "nth", "base", "bit"):
        return rng.choice(SPECIAL[kind])
    if kind in ("f", "d", "h", "bh"):
        return close(rng, kind) if turn < 0.6 else rng.getrandbits(8 * SIZE[kind])
    if kind == "n":
        return rng.randrange(70) if turn < 0.8 else rng.getrandbits(32)
    bits = 8 * SIZE[kind]
    return rng.getrandbits(bits) >> (rng.randrange(bits) if turn < 0.6 else 0)


def product(rng, kind, a, b):
    """Minus a times b, or nearly: cancels in fma."""
    code, bits = {"f": ("f", 32), "d": ("d", 64), "h": ("e", 16)}[kind]
    form = {32: "I", 64: "Q", 16: "H"}[bits]
    x, y = (struct.unpack("<" + code, struct.pack("<" + form, v))[0] for v in (a, b))
    try:
        c = struct.unpack("<" + form, struct.pack("<" + code, -x * y))[0]
    except OverflowError:
        c = draw(rng, kind)
    return (c + rng.choice((0, 0, 0, 1, -1, 2, -5))) % (1 << bits)


# ---- values for warps: the lanes of a warp (32 tuples) draw each kind of number in the same way

def small(rng):
    return rng.randint(-8, 8)


def number(rng, warp, encode, specials, wide):
    """Values for matrix products. Sums of every fourth warp are exact in any order."""
    turn = warp % 4
    if turn == 0:
        return encode(small(rng))
    if turn == 1:
        return encode(rng.uniform(-2, 2))
    if turn == 2:
        return wide(rng)
    return rng.choice(specials) if rng.random() < 0.06 else encode(rng.uniform(-2, 2))


def wide_half(rng):
    return rng.getrandbits(1) << 15 | rng.randint(1, 24) << 10 | rng.getrandbits(10)


def wide_bhalf(rng):
    return rng.getrandbits(1) << 15 | rng.randint(107, 147) << 7 | rng.getrandbits(7)


def wide_single(rng):
    return rng.getrandbits(1) << 31 | rng.randint(107, 147) << 23 | rng.getrandbits(23)


def wide_double(rng):
    return rng.getrandbits(1) << 63 | rng.randint(960, 1080) << 52 | rng.getrandbits(52)


MATRIX = {"mh": (f16, F16, wide_half), "mbh": (bf16, BF16, wide_bhalf), "mf": (f32, F32, wide_single),
          "mtf": (f32, F32, wide_single), "md": (f64, F64, wide_double)}
FP8_EXACT = [0, 0x38, 0x40, 0x44, 0x48, 0xb8, 0xc0, 0xc4, 0xc8]


def metadata(rng, choices):
    return sum(rng.choice(choices) << 4 * i for i in range(8))


def masks(warp, rng):
    return [0xffffffff, 0xffff, 0xffff0000, 0x55555555, 0xff, 0x80000001, 1 << (warp % 32),
            rng.getrandbits(32) or 1][warp % 8] if warp % 2 else 0xffffffff


def of_warp(rng, kind, warp):
    """The values of 32 lanes."""
    if kind[0] == "g":  # the four warps of a block draw the same kind
        return of_warp(rng, "m" + kind[1:], warp // 4)
    if kind == "quad":
        share = (0, 1, 0.995, 0.005)[warp // 4 % 4]
        return [int(rng.random() < share) for _ in range(32)]
    if kind in ("mh2", "mbh2"):
        how = MATRIX[kind[:-1]]
        return [number(rng, warp, *how) | number(rng, warp, *how) << 16 for _ in range(32)]
    if kind in MATRIX:
        return [number(rng, warp, *MATRIX[kind]) for _ in range(32)]
    if kind == "mfp8":
        one = (lambda: rng.choice(FP8_EXACT)) if warp % 4 == 0 else (
            lambda: rng.getrandbits(1) << 7 | rng.randint(0x20, 0x58) if warp % 4 < 3 else rng.getrandbits(8))
        return [sum(one() << 8 * i for i in range(4)) for _ in range(32)]
    if kind in ("meta", "metatf"):
        choices = (0x4, 0x8, 0x9, 0xc, 0xd, 0xe) if kind == "meta" else (0x4, 0xe)
        return [metadata(rng, choices) for _ in range(32)]
    if kind == "mask":
        return [masks(warp, rng)] * 32
    if kind == "full":
        return [0xffffffff] * 32
    if kind in ("few", "few64"):
        pool = [rng.getrandbits(8 * SIZE[kind]) for _ in range(rng.choice((1, 1, 2, 3, 8)))]
        return [rng.choice(pool) for _ in range(32)]
    if kind == "uni":
        share = rng.choice((0, 0.1, 0.5, 0.9, 1))
        return [int(rng.random() < share) for _ in range(32)]
    if kind == "lane":
        return [rng.choice((1, 2, 4, 8, 16, 31, 0, 32, 33)) if warp % 2 else rng.randrange(64) for _ in range(32)]
    if kind == "clamp":
        c = rng.choice((0, 0x1f, 0x181f, 0x1c1f, 0x100f, 0x1800, 0x1f, 0xff)) if warp % 4 else rng.getrandbits(13)
        return [c] * 32
    if kind == "row":
        return [rng.randrange(64) * 16 for _ in range(32)]
    raise KeyError(kind)


OF_WARPS = {"mh2", "mbh2", "mf", "mtf", "md", "mfp8", "meta", "metatf", "mask", "full", "few", "few64", "lane", "clamp",
            "row", "uni", "quad", "gf", "gh2", "gbh2", "gtf", "gfp8"}


def whole(kind):
    """All values of a type of 8 or 16 bits."""
    return list(range(1 << 8 * SIZE[kind]))


def alone(rng, kind, n):
    if kind in ("i8", "h", "bh", "fp8") and n >= 4096:
        return whole(kind)
    if kind == "p":
        return [0, 1] * 64
    if kind in PAIRS:
        crossed = [a | b << 16 for a in SPECIAL[PAIRS[kind]] for b in SPECIAL[PAIRS[kind]]]
        return crossed + [draw(rng, kind) for _ in range(2 * n - len(crossed))]
    if kind == "i128":
        return [draw(rng, kind) for _ in range(1024)]
    values = SPECIAL[kind] + MORE.get(kind, [])
    if kind in ("i16", "i32", "i64"):
        for p in range(8 * SIZE[kind]):
            values = values + [(1 << p) + d & (1 << 8 * SIZE[kind]) - 1 for d in (-1, 0, 1)]
    return values + [draw(rng, kind) for _ in range(2 * n - len(values))]


def mixed(rng, kinds):
    """A random tuple."""
    row = [draw(rng, k) for k in kinds]
    turn = rng.random()
    if turn < 0.08:  # equal operands
        row = [row[kinds.index(k)] for k in kinds]
    elif turn < 0.16 and len(kinds) > 1 and kinds[0] == kinds[1] and kinds[0] != "p":
        row[1] = (row[0] + rng.choice((1, -1))) % (1 << 8 * SIZE[kinds[0]])
    elif turn < 0.4 and kinds[:3] in (["f"] * 3, ["d"] * 3, ["h"] * 3):
        row[2] = product(rng, kinds[0], row[0], row[1])
    return row


def several(rng, kinds, n):
    """Special values of the first two operands crossed, then random tuples."""
    first, second = (SPECIAL.get(k) or [draw(rng, k) for _ in range(45)] for k in kinds[:2])
    rows = [[a, b] + [rng.choice(SPECIAL[k]) if k in SPECIAL else draw(rng, k) for k in kinds[2:]]
            for a in first for b in second]
    if len(rows) > n // 2:
        rows = rng.sample(rows, n // 2)
    return rows + [mixed(rng, kinds) for _ in range(n - len(rows))]


def columns(kinds, n):
    """The values of each operand, one list per column: at least 128 tuples, and a multiple of 128."""
    rng = random.Random(" ".join(kinds) + f" {n}")
    if OF_WARPS & set(kinds):
        found = [[] for _ in kinds]
        for warp in range(n // 32):
            for column, kind in zip(found, kinds):
                column += of_warp(rng, kind, warp) if kind in OF_WARPS else [draw(rng, kind) for _ in range(32)]
        return found
    if not kinds:
        return []
    rows = [[v] for v in alone(rng, kinds[0], n)] if len(kinds) == 1 else several(rng, list(kinds), n)
    rows += rows[:-len(rows) % 128]
    return [list(c) for c in zip(*rows)]
