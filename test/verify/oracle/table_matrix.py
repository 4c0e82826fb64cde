# SPDX-License-Identifier: Apache-2.0
"""Matrix products. Those of integers and bits, and those of small whole numbers as floats, are exact in any order."""
from form import expanded, instruction, program

TUPLES = 2048  # 64 products


def group(t, kind, n):
    return "{" + ",".join([f"{t}:{kind}"] * n) + "}"


def mma(opcode, d, a, b, c, more=""):
    """Operands d, a, b and c are (type, kind, registers) each."""
    return [instruction(o, f"{{{','.join([d[0]] * d[2])}}}; {group(*a)}; {group(*b)}; {group(*c)}{more}", TUPLES)
            for o in expanded(opcode)]


H2, BH2, TF, D, I, F8 = (("b32", "mh2"), ("b32", "mbh2"), ("b32", "mtf"), ("f64", "md"), ("b32", "i32"), ("b32", "mfp8"))
F, S = ("f32", "mf"), ("s32", "i32")


def dense():
    found = []
    for s, na, nb in (("m16n8k8", 2, 1), ("m16n8k16", 4, 2)):
        found += mma(f"mma.sync.aligned.{s}.row.col.f16.f16.f16.f16", (*H2, 2), (*H2, na), (*H2, nb), (*H2, 2))
        found += mma(f"mma.sync.aligned.{s}.row.col.f32.f16.f16.f32", (*F, 4), (*H2, na), (*H2, nb), (*F, 4))
        found += mma(f"mma.sync.aligned.{s}.row.col.f32.bf16.bf16.f32", (*F, 4), (*BH2, na), (*BH2, nb), (*F, 4))
    for s, na, nb in (("m16n8k4", 2, 1), ("m16n8k8", 4, 2)):
        found += mma(f"mma.sync.aligned.{s}.row.col.f32.tf32.tf32.f32", (*F, 4), (*TF, na), (*TF, nb), (*F, 4))
    for d, nd in ((F, 8), (H2, 4)):
        for c, nc in ((F, 8), (H2, 4)):
            found += mma(f"mma.sync.aligned.m8n8k4.[row,col].[row,col].{'f32' if d == F else 'f16'}.f16.f16."
                         f"{'f32' if c == F else 'f16'}", (*d, nd), (*H2, 2), (*H2, 2), (*c, nc))
    for s, na, nb, nd in (("m8n8k4", 1, 1, 2), ("m16n8k4", 2, 1, 4), ("m16n8k8", 4, 2, 4), ("m16n8k16", 8, 4, 4)):
        found += mma(f"mma.sync.aligned.{s}.row.col.f64.f64.f64.f64", (*D, nd), (*D, na), (*D, nb), (*D, nd))
    for s, na, nb in (("m16n8k16", 2, 1), ("m16n8k32", 4, 2)):
        op = f"mma.sync.aligned.{s}.row.col"
        found += mma(f"{op}.f32.[e4m3,e5m2].[e4m3,e5m2].f32", (*F, 4), (*F8, na), (*F8, nb), (*F, 4))
        found += mma(f"{op}.f16.[e4m3,e5m2].[e4m3,e5m2].f16", (*H2, 2), (*F8, na), (*F8, nb), (*H2, 2))
    return found + whole()


def whole():
    found = []
    for s, na, nb, nd in (("m8n8k16", 1, 1, 2), ("m16n8k16", 2, 1, 4), ("m16n8k32", 4, 2, 4)):
        found += mma(f"mma.sync.aligned.{s}.row.col[,.satfinite].s32.[u8,s8].[u8,s8].s32", (*S, nd), (*I, na), (*I, nb), (*S, nd))
    for s, na, nb, nd in (("m8n8k32", 1, 1, 2), ("m16n8k32", 2, 1, 4), ("m16n8k64", 4, 2, 4)):
        found += mma(f"mma.sync.aligned.{s}.row.col[,.satfinite].s32.[u4,s4].[u4,s4].s32", (*S, nd), (*I, na), (*I, nb), (*S, nd))
    for s, na, nb, nd in (("m8n8k128", 1, 1, 2), ("m16n8k128", 2, 1, 4), ("m16n8k256", 4, 2, 4)):
        found += mma(f"mma.sync.aligned.{s}.row.col.s32.b1.b1.s32.[xor,and].popc", (*S, nd), (*I, na), (*I, nb), (*S, nd))
    return found


def sparse():
    """Valid metadata selects two of four values; the selector is a literal."""
    found = []
    for order in ("mma.sp", "mma.sp::ordered_metadata"):
        for s, na, nb, selectors in (("m16n8k16", 2, 2, 4), ("m16n8k32", 4, 4, 2)):
            for x in range(selectors):
                tail = f"; b32:meta; {x}"
                op = f"{order}.sync.aligned.{s}.row.col"
                found += mma(f"{op}.f16.f16.f16.f16", (*H2, 2), (*H2, na), (*H2, nb), (*H2, 2), tail)
                found += mma(f"{op}.f32.f16.f16.f32", (*F, 4), (*H2, na), (*H2, nb), (*F, 4), tail)
                found += mma(f"{op}.f32.bf16.bf16.f32", (*F, 4), (*BH2, na), (*BH2, nb), (*F, 4), tail)
        for s, na, nb, selectors in (("m16n8k8", 2, 2, 4), ("m16n8k16", 4, 4, 2)):
            for x in range(selectors):
                found += mma(f"{order}.sync.aligned.{s}.row.col.f32.tf32.tf32.f32", (*F, 4), (*TF, na), (*TF, nb), (*F, 4),
                             f"; b32:metatf; {x}")
        for s, na, nb, selectors, t in (("m16n8k32", 2, 2, 2, "8"), ("m16n8k64", 4, 4, 1, "8"), ("m16n8k64", 2, 2, 2, "4"),
                                        ("m16n8k128", 4, 4, 1, "4")):
            for x in range(selectors):
                found += mma(f"{order}.sync.aligned.{s}.row.col[,.satfinite].s32.[u{t},s{t}].[u{t},s{t}].s32", (*S, 4), (*I, na),
                             (*I, nb), (*S, 4), f"; b32:meta; {x}")
        found += mma(f"{order}.sync.aligned.m16n8k64.row.col.f32.[e4m3,e5m2].[e4m3,e5m2].f32", (*F, 4), (*F8, 4), (*F8, 4),
                     (*F, 4), "; b32:meta; 0")
    return found


# ---- wmma, from fragments to fragments: laid out as mma's, which hardware need not confirm

WMMA = [("m16n16k16", 8, 8), ("m32n8k16", 8, 8), ("m8n32k16", 8, 8)]


def fragments():
    found = []
    for s, na, nb in WMMA:
        op = f"wmma.mma.sync.aligned.[row,col].[row,col].{s}"
        found += mma(f"{op}.f16.f16", (*H2, 4), (*H2, na), (*H2, nb), (*H2, 4))
        found += mma(f"{op}.f32.f16", (*F, 8), (*H2, na), (*H2, nb), (*H2, 4))
        found += mma(f"{op}.f16.f32", (*H2, 4), (*H2, na), (*H2, nb), (*F, 8))
        found += mma(f"{op}.f32.f32", (*F, 8), (*H2, na), (*H2, nb), (*F, 8))
    for s, na, nb in (("m16n16k16", 4, 4), ("m32n8k16", 8, 2), ("m8n32k16", 2, 8)):
        found += mma(f"wmma.mma.sync.aligned.row.col.{s}.f32.bf16.bf16.f32", (*F, 8), (*BH2, na), (*BH2, nb), (*F, 8))
    for s, na, nb in (("m16n16k16", 2, 2), ("m32n8k16", 4, 1), ("m8n32k16", 1, 4)):
        found += mma(f"wmma.mma.sync.aligned.row.col.{s}.s32.[u8,s8].[u8,s8].s32[,.satfinite]", (*S, 8), (*I, na), (*I, nb), (*S, 8))
    found += mma("wmma.mma.sync.aligned.row.col.m16n16k8.f32.tf32.tf32.f32", (*F, 8), (*TF, 4), (*TF, 4), (*F, 8))
    found += mma("wmma.mma.sync.aligned.row.col.m8n8k4[,.rn,.rz,.rm,.rp].f64.f64.f64.f64", (*D, 2), (*D, 1), (*D, 1), (*D, 2))
    found += mma("wmma.mma.sync.aligned.row.col.m8n8k32.s32.[u4,s4].[u4,s4].s32[,.satfinite]", (*S, 2), (*I, 1), (*I, 1), (*S, 2))
    return found + mma("wmma.mma.[xor,and].popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32", (*S, 2), (*I, 1), (*I, 1), (*S, 2))


# ---- whole products: a, b and c lie in shared memory, d is stored there, whatever the fragments' layout

FRAGMENTS = {"f16": {"m16n16k16": (8, 8), "m32n8k16": (8, 8), "m8n32k16": (8, 8)},
             "bf16": {"m16n16k16": (4, 4), "m32n8k16": (8, 2), "m8n32k16": (2, 8)},
             "u8": {"m16n16k16": (2, 2), "m32n8k16": (4, 1), "m8n32k16": (1, 4)},
             "tf32": {"m16n16k8": (4, 4)}, "f64": {"m8n8k4": (1, 1)}, "u4": {"m8n8k32": (1, 1)}, "b1": {"m8n8k128": (1, 1)}}


def held(t):
    return {"f64": "f64", "f32": "f32", "s32": "s32"}.get(t, "b32")


def loaded(matrix, shape, t, layout, n):
    """Loads a matrix from global memory into fragments, 1 KiB or more of random words a warp."""
    regs = "{" + ",".join(f"$o{i}" for i in range(n)) + "}"
    body = f"wmma.load.{matrix}.sync.aligned.{layout}.{shape}.shared.{t} {regs},[$B];"
    fill = "\n".join(f"st.shared.b32 [$S+{4 * i}],$i{i};" for i in range(8)) + "\nbar.warp.sync -1;\n"
    return program(f"wmma.load.{matrix}.{layout}.{shape}.{t}", fill + body, "; ".join([held(t)] * n), "; ".join(["b32"] * 8), 1024)


def stored(shape, t, layout, n):
    regs = "{" + ",".join(f"$i{i}" for i in range(n)) + "}"
    clear = "\n".join(f"st.shared.b32 [$S+{4 * i}],0;" for i in range(8)) + "\nbar.warp.sync -1;\n"
    back = "\nbar.warp.sync -1;\n" + "\n".join(f"ld.shared.b32 $o{i},[$S+{4 * i}];" for i in range(8))
    body = f"wmma.store.d.sync.aligned.{layout}.{shape}.shared.{t} [$B],{regs};"
    return program(f"wmma.store.d.{layout}.{shape}.{t}", clear + body + back, "; ".join(["b32"] * 8), "; ".join([held(t)] * n), 1024)


def moved():
    found = []
    for t, shapes in FRAGMENTS.items():
        for shape, (na, nb) in shapes.items():
            layouts = {"u4": ("row", "col"), "b1": ("row", "col")}.get(t, ("row", "col"))
            for layout in layouts:
                found += [loaded("a", shape, t, layout, na), loaded("b", shape, t, layout, nb)]
    for shape, sums in (("m16n16k16", "f16 f32 s32"), ("m32n8k16", "f16 f32 s32"), ("m8n32k16", "f16 f32 s32"), ("m16n16k8", "f32"),
                        ("m8n8k4", "f64"), ("m8n8k32", "s32"), ("m8n8k128", "s32")):
        for t in sums.split():
            n = 4 if t == "f16" else 8 if "m8n8" not in shape else 2
            for layout in ("row", "col"):
                found += [loaded("c", shape, t, layout, n), stored(shape, t, layout, n)]
    return found
